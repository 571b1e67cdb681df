"""Extraction: from neutral spans to questions with their context and answers. Rules know frameworks, no platforms.

Read in this order: `extracting` (the step), `trees` (what belongs together), `items` (one item), `context` and
`sources` (the documents), `rules` (the table of framework families).
"""

from enricher.steps.extraction.extracting import extract
from enricher.steps.extraction.paths import ExtractionPaths

__all__ = ["ExtractionPaths", "extract"]
