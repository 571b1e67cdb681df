"""Trace Enricher: compare RAG answers with their context and write the diff back onto the trace."""

__version__ = "0.1.0"
