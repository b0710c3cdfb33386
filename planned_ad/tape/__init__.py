"""The intermediate representation: what a tape is, how it is written, printed, run, verified and called."""
