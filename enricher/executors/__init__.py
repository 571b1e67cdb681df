"""Ways to run many traces at a time; see `enricher.seams.Executor`."""
