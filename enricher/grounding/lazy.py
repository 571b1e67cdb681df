"""The property that is computed once, under the name by which this room knows it."""

from enricher.lazy import lazy

__all__ = ["lazy"]
