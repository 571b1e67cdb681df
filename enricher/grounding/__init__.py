"""The embedded grounding engine: evidence search over sentences, comparers for what can be compared, and a decision."""
