"""The judges: one file each, and what they share."""
