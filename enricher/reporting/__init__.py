"""The report of a run for people who were not there: what was found, what changed, and where it comes from."""
