"""Randomised faults against the product as its users run it; `make chaos` runs them at length."""
