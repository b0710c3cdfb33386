"""One run of the user's function, recorded on a tape; `planned_ad.trace` is the front door."""
