"""From steps to machine code; `emit` cuts the schedule into functions."""
