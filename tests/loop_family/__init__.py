"""Programs with Python loops and branches, one module for each kind; `tests.loop_programs` is the front door."""
