"""What the five judges say, one file a judge; `enricher.verdict` is the page that names them all."""
