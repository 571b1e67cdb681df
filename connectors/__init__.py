"""The outside world, one file a platform; see `enricher.seams.Connector`."""
