"""How far judges agreed with people, and the verdicts that people's labels are compared with."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from sqlalchemy import Connection, select

from enricher.store.history import evaluation_records
from enricher.store.records import EvaluationRecord, digest
from enricher.store.schema import calibrations, evaluations
from enricher.store.store import Store
from enricher.store.upsert import insert_into
from enricher.trust import Calibration, Setting
from enricher.verdict import Verdict

_PAGE = 500  # values in one statement
_REMEMBERED = 200  # calibrations that are looked at; the newest one of each setting counts


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedPlace:
    """A span on a platform that a judge has judged."""

    connection: str
    project: str
    trace_id: str
    span_id: str
    judge: str


class CalibrationBook:
    """The calibrations in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def keep(self, calibration: Calibration) -> None:
        """Record what was measured."""
        await self._store.transact(lambda c: _keep(c, calibration))

    async def newest(self) -> list[Calibration]:
        """Return the newest calibration of each setting, newest first."""
        return await self._store.look(_newest)

    async def places(self, since: datetime) -> list[JudgedPlace]:
        """Return what was judged since a moment, each span once a judge."""
        return await self._store.look(lambda c: _places(c, since))

    async def last_setting(self, judge: str) -> Setting | None:
        """Return the setting of a judge's newest verdict."""
        return await self._store.look(lambda c: _last_setting(c, judge))

    async def verdicts(self, trace_ids: Collection[str]) -> list[EvaluationRecord]:
        """Return the evaluations of some traces, oldest first."""
        wanted, found = sorted(trace_ids), list[EvaluationRecord]()
        for at in range(0, len(wanted), _PAGE):
            page = wanted[at : at + _PAGE]
            found += await self._store.look(partial(_verdicts, trace_ids=page))
        return found


def _keep(connection: Connection, calibration: Calibration) -> None:
    setting = calibration.setting.model_dump(mode="json")
    row = {
        "id": digest(json.dumps(setting, sort_keys=True), calibration.made_at.isoformat()),
        "judge": calibration.setting.judge,
        "setting": setting,
        "made_at": calibration.made_at,
        "labels": calibration.labels,
        "agreement": calibration.agreement,
        "kappa": calibration.kappa,
        "figures": calibration.figures,
    }
    connection.execute(insert_into(connection, calibrations).on_conflict_do_nothing(), row)


def _newest(connection: Connection) -> list[Calibration]:
    query = select(calibrations).order_by(calibrations.c.made_at.desc(), calibrations.c.id.desc()).limit(_REMEMBERED)
    found: dict[Setting, Calibration] = {}
    for row in connection.execute(query):
        setting = Setting.model_validate(row.setting)
        found.setdefault(
            setting,
            Calibration(
                setting=setting,
                made_at=row.made_at,
                labels=row.labels,
                agreement=row.agreement,
                kappa=row.kappa,
                figures=row.figures,
            ),
        )
    return list(found.values())


def _places(connection: Connection, since: datetime) -> list[JudgedPlace]:
    columns = (
        evaluations.c.connection,
        evaluations.c.project,
        evaluations.c.trace_id,
        evaluations.c.span_id,
        evaluations.c.judge,
    )
    query = select(*columns).where(evaluations.c.settled_at >= since).distinct().order_by(*columns)
    return [JudgedPlace(**row._mapping) for row in connection.execute(query)]  # fields are named after columns


def _last_setting(connection: Connection, judge: str) -> Setting | None:
    query = select(evaluations.c.verdict).where(evaluations.c.judge == judge, evaluations.c.is_verdict.is_(True))
    newest = connection.execute(query.order_by(evaluations.c.settled_at.desc()).limit(1)).scalar()
    return Setting.of(Verdict.model_validate_json(newest).provenance) if newest is not None else None


def _verdicts(connection: Connection, trace_ids: Sequence[str]) -> list[EvaluationRecord]:
    query = select(evaluations).where(evaluations.c.trace_id.in_(trace_ids))
    return evaluation_records(connection, query.order_by(evaluations.c.settled_at, evaluations.c.id))
