"""How the judges of a config stand: what is known of their agreement with people, and what is held for it."""

from collections.abc import Iterable

from enricher.settings import Settings
from enricher.steps.confirmation import Confirmation, Hold
from enricher.store import Store
from enricher.store.calibrations import CalibrationBook
from enricher.trust import Calibration, Setting, Standing
from enricher.verdict import Provenance


async def confirmation(settings: Settings, store: Store) -> Confirmation:
    """Return the rule by which findings count as confirmed."""
    known = await CalibrationBook(store).newest()
    return Confirmation(
        calibrations=known, level=settings.calibrate.min_agreement, is_required=settings.calibrate.required
    )


async def standings(store: Store, rule: Confirmation, judges: Iterable[Provenance]) -> list[Standing]:
    """Say how each judge stands as it is configured now; its snapshot is the one that was last reported."""
    found = []
    for provenance in judges:
        setting = await _setting(store, rule, provenance)
        same = next((one for one in rule.calibrations if one.setting == setting), None)
        hold = rule.hold(setting)
        found.append(
            Standing(
                judge=setting.judge,
                setting=setting.name,
                calibrated=_told(same),
                held=hold.sentence if hold is not None else None,
            )
        )
    return found


async def holds(store: Store, rule: Confirmation, judges: Iterable[str]) -> list[Hold]:
    """Return what is held for judges as they judged last."""
    last = [await CalibrationBook(store).last_setting(judge) for judge in judges]
    return [hold for setting in last if setting is not None and (hold := rule.hold(setting)) is not None]


async def _setting(store: Store, rule: Confirmation, provenance: Provenance) -> Setting:
    setting = Setting.of(provenance)
    last = await CalibrationBook(store).last_setting(setting.judge)
    known = [last] if last is not None else []
    known += [one.setting for one in rule.calibrations]
    # What a server will report is known only from what it reported last.
    return next((one for one in known if _without_snapshot(one) == _without_snapshot(setting)), setting)


def _without_snapshot(setting: Setting) -> Setting:
    return setting.model_copy(update={"snapshot": None})


def _told(calibration: Calibration | None) -> str:
    if calibration is None:
        return "never"
    shown = f"{calibration.agreement:.0%} of {calibration.labels} labels"
    sure = "" if calibration.kappa is None else f", kappa {calibration.kappa:.2f}"
    return f"{calibration.made_at:%Y-%m-%d}: {shown}{sure}"
