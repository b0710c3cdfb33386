"""What a plan looks like: its memory over time, its schedule, where time goes, its tape as a graph."""
