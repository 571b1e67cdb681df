"""Commands that are a group of their own or need more than a few lines; `enricher.cli` registers them."""
