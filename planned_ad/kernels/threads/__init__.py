"""Parts of steps in several threads: which, by whom, and where what is theirs lies."""
