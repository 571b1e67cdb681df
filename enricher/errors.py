"""Errors, sorted by who must act.

    EnricherError
    ├── SetupError        the operator fixes config, credentials or command line; exit 2, one sentence
    ├── TryAgain          the platform or model may answer later; the run retries, honouring `after`
    │   └── Unavailable   retries are used up; what is left stays due for the next run
    ├── Unwritable        this one annotation can never be written; it is recorded and reported
    ├── OverBudget        a cost cap is reached; no new calls, the rest stays due
    └── BadReply          a platform answered what its protocol forbids; the item is recorded as failed

A judge that reaches no verdict is not an error but a value (`enricher.verdict.Status`), and so is a trace that can't
be judged (`enricher.trace.Rejection`). Anything else that is raised is a bug and shows its traceback.
"""


class EnricherError(Exception):
    """Something a person or the run must act on; the message says what to do."""


class SetupError(EnricherError):
    """The operator must fix something before any trace is touched."""


class TryAgain(EnricherError):
    """The other side may answer later; `after` is the number of seconds it asked us to wait, if it did."""

    def __init__(self, message: str, *, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class Unavailable(TryAgain):
    """Retries are used up; whatever depended on this stays due for the next run."""


class Unwritable(EnricherError):
    """One annotation can never be written, for example because its span does not exist."""


class OverBudget(EnricherError):
    """A cap on calls, tokens or money is reached."""


class BadReply(EnricherError):
    """A platform answered something its own protocol does not allow."""
