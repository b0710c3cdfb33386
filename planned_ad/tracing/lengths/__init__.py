"""Arrays whose extents move with a loop, or are known only when the plan runs."""
