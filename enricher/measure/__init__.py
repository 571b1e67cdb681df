"""How far a judge is to be trusted: calibration against people, regressions on a golden set, drift."""
