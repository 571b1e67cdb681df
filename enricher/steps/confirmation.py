"""Whether what a second check confirms counts as confirmed: only while the judge is known to agree with people."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from enricher.trust import Calibration, Setting
from enricher.verdict import Certainty, Part, Verdict

HELD = "confirmation_held"  # flag of a verdict, with the reason
_ADVICE = "label answers of this setting and run `enricher calibrate`"


class HoldReason(StrEnum):
    """Why automatic confirmation is held."""

    AGREEMENT = "agreement_below_level"
    PROMPT = "prompt_changed"
    MODEL = "model_changed"
    NEVER = "never_calibrated"


@dataclass(frozen=True, kw_only=True, slots=True)
class Hold:
    """Automatic confirmation is held for a judge."""

    judge: str
    reason: HoldReason
    detail: str

    @property
    def sentence(self) -> str:
        """Say what is held, why, and what to do."""
        return f"automatic confirmation of {self.judge} is held: {self.detail}; {_ADVICE}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Confirmation:
    """What is known of the judges, and what is asked of them. By default nothing is known, and nothing asked."""

    calibrations: Sequence[Calibration] = ()  # newest first
    level: float = 0.0  # the agreement below which a judge is not trusted
    is_required: bool = False  # of judges that were never calibrated too

    def hold(self, setting: Setting) -> Hold | None:
        """Say why findings under a setting are not confirmed without a person; None when they are."""
        # Another engine is another judge, which may be used beside this one.
        mine = (setting.judge, setting.engine)
        known = [one for one in self.calibrations if (one.setting.judge, one.setting.engine) == mine]
        if not known:
            detail = "it was never compared with people's labels (calibrate.required)"
            return Hold(judge=setting.judge, reason=HoldReason.NEVER, detail=detail) if self.is_required else None
        same = next((one for one in known if one.setting == setting), None)
        if same is None:
            return _changed(setting, known[0])
        if same.agreement < self.level:
            when = f"{same.made_at:%Y-%m-%d}"
            detail = (
                f"it agreed with {same.agreement:.0%} of {same.labels} labels on {when}, {self.level:.0%} are asked"
            )
            return Hold(judge=setting.judge, reason=HoldReason.AGREEMENT, detail=detail)
        return None

    def applied(self, verdict: Verdict) -> tuple[Verdict, Hold | None]:
        """Return the verdict as it stands now, and what is held: a verdict that was recalled may be from before."""
        result = verdict.result
        if result is None:
            return verdict, None
        hold = self.hold(Setting.of(verdict.provenance))
        flags = tuple(flag for flag in verdict.flags if not flag.startswith(HELD))
        parts = _each(result.parts, _unconfirmed if hold is not None else _confirmed)
        if hold is not None and parts is not None:
            flags = (*flags, f"{HELD}:{hold.reason}")
        update: dict[str, object] = {"flags": flags} if flags != verdict.flags else {}
        if parts is not None:
            update["result"] = result.with_parts(parts)
        return (verdict.model_copy(update=update) if update else verdict), hold


def unconfirmed(verdict: Verdict) -> Verdict:
    """Return a verdict in which no second check confirms a finding."""
    parts = _each(verdict.result.parts, _unconfirmed) if verdict.result is not None else None
    if verdict.result is None or parts is None:
        return verdict
    return verdict.model_copy(update={"result": verdict.result.with_parts(parts)})


def _changed(setting: Setting, last: Calibration) -> Hold:
    now, then, when = setting, last.setting, f"{last.made_at:%Y-%m-%d}"
    if now.prompt_hash != then.prompt_hash:
        what = now.prompt if now.prompt != then.prompt else f"{now.prompt} with other additions"
        detail = f"its prompt is {what or 'none'}, calibrated was {then.prompt or 'none'} on {when}"
        return Hold(judge=now.judge, reason=HoldReason.PROMPT, detail=detail)
    detail = f"its model is {now.snapshot or now.model}, calibrated was {then.snapshot or then.model} on {when}"
    return Hold(judge=now.judge, reason=HoldReason.MODEL, detail=detail)


def _each(parts: Sequence[Part], change: Callable[[Part], Part]) -> list[Part] | None:
    """Change every statement; None when none of them changed."""
    changed = [change(part) for part in parts]
    return changed if any(one is not other for one, other in zip(changed, parts, strict=True)) else None


def _unconfirmed(part: Part) -> Part:
    if part.certainty is not Certainty.CONFIRMED:
        return part
    return part.model_copy(update={"certainty": Certainty.UNCONFIRMED})


def _confirmed(part: Part) -> Part:
    # Only a hold leaves a finding unconfirmed that all who looked at it share.
    is_shared = bool(part.opinions) and all(opinion.agrees for opinion in part.opinions)
    if part.certainty is not Certainty.UNCONFIRMED or not is_shared:
        return part
    return part.model_copy(update={"certainty": Certainty.CONFIRMED})
