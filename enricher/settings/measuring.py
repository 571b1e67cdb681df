"""How far judges are trusted, and what a change of prompt or model must hold up to."""

from datetime import timedelta
from pathlib import Path
from typing import Literal

from pydantic import Field

from enricher.settings.values import Duration, Section, Share


class Calibrate(Section):
    """When a judge agrees with people well enough that its findings count without them."""

    min_labels: int = Field(default=50, ge=1)  # fewer are shown and decide nothing
    min_agreement: Share = 0.8  # below it automatic confirmation is held
    required: bool = False  # also held for a judge that was never calibrated
    look_back: Duration = timedelta(days=180)  # how old the verdicts may be that people's labels are compared with
    min_recall: Share = 0.9  # share of the answers that people reject which an advised threshold must catch


class Regress(Section):
    """What a candidate must reach on the golden set."""

    golden: Path | None = None
    min_agreement: Share = 0.8  # with people's labels
    max_regressions: int = Field(default=0, ge=0)  # items that the baseline had right and the candidate has wrong
    max_failed: int = Field(default=0, ge=0)  # items without a verdict
    tolerance: Literal["none", "interval"] = "none"  # interval: only what chance does not explain breaks the gate


class Drift(Section):
    """When a distribution counts as moved."""

    stability: float = Field(default=0.2, gt=0)  # population stability index
