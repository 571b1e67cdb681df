"""How the stand-in behaves: every documented answer of the service that a client must be ready for is a switch here."""

from dataclasses import dataclass, field, fields
from typing import Any, Literal

Rights = frozenset[str]
EVERYTHING: Rights = frozenset({"read", "write"})
READ_ONLY: Rights = frozenset({"read"})


@dataclass(kw_only=True)
class Limit:
    """At most `requests` in each window of `seconds` for one group of endpoints."""

    requests: int
    seconds: float


@dataclass(kw_only=True)
class Fault:
    """A scripted failure: the next `times` requests that fit, after the first `skip`, end as told.

    `status` answers with that code; `hang_s` waits first (longer than the client's timeout: a timeout); `malformed`
    answers 200 with JSON that breaks off; `drop` closes the connection in the middle
    of the answer.
    """

    method: str = ""  # empty fits every method
    path: str = ""  # part of the path
    status: int = 0
    detail: str = "scripted failure"
    times: int = 1
    skip: int = 0
    retry_after: float | None = None
    hang_s: float = 0.0
    malformed: bool = False
    drop: bool = False

    def fits(self, method: str, path: str) -> bool:
        """Tell whether a request is meant; counts down `skip` and `times`."""
        if self.times <= 0 or self.path not in path or (self.method and self.method != method):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.times -= 1
        return True


@dataclass(kw_only=True)
class Switches:
    """The state of all switches; the defaults are a quick, generous service with both API generations."""

    generation: Literal["both", "v1", "v2"] = "both"  # v1: no /api/v2 paths (404); v2: run store without v1 queries
    removed_status: int = 501  # what removed v1 endpoints answer: 501, later 404
    version: str = "0.18.3"  # as /info reports it
    is_info_broken: bool = False

    multipart: bool = True  # ingest by /runs/multipart, else /runs/batch
    zstd: bool = True
    ingest_delay_s: float = 0.0  # from acceptance until a run can be seen
    feedback_to_unseen: Literal["404", "accept"] = "404"
    stats_delay_s: float = 0.0  # from acceptance of feedback until `feedback_stats` and filters know it

    repost: Literal["upsert", "conflict"] = "upsert"  # feedback posted again under the same id
    knows_feedback_times: bool = True  # min/max_feedback_modified_at; an older server ignores unknown fields
    payload_url_bytes: int | None = None  # v1 payloads from this size on are handed out as presigned URLs
    payload_url_life_s: float = 300.0

    is_org_scoped: bool = False  # keys need X-Tenant-Id
    keys: dict[str, Rights] = field(default_factory=lambda: {"lsv2_pt_standin_0000": EVERYTHING})

    base_retention_days: int = 14
    extended_retention_days: int = 400
    extended_traces_allowed: int | None = None  # the organisation's monthly limit

    limits: dict[str, Limit] = field(default_factory=dict)  # group of endpoints (see `gate.group_of`) -> limit
    tells_retry_after: bool = True

    def turn(self, changes: dict[str, Any]) -> None:
        """Set switches by name; unknown names are an error."""
        known = {one.name for one in fields(self)}
        for name, value in changes.items():
            if name not in known:
                raise ValueError(f"there is no switch '{name}'; there are {', '.join(sorted(known))}")
            if name == "limits":
                value = {group: one if isinstance(one, Limit) else Limit(**one) for group, one in value.items()}
            if name == "keys":
                value = {key: frozenset(rights) for key, rights in value.items()}
            setattr(self, name, value)
