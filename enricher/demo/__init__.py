"""The front door: a Phoenix of our own, sample traces, a run, and the diffs."""
