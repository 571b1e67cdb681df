"""Who may look and who may decide: tokens of the environment, sessions, and a limit to guessing."""

import getpass
import os
import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256

from pydantic import SecretStr

from enricher.settings import Serve

TRIES = 5  # wrong tokens from one address within a minute
TRIES_OF_ALL = 50  # from all addresses together
_A_MINUTE_S = 60.0


class Role(StrEnum):
    """What a visitor may do."""

    REVIEWER = "reviewer"  # look and decide
    READER = "reader"  # look


@dataclass(frozen=True, kw_only=True, slots=True)
class Visitor:
    """Who asks for a page."""

    person: str  # as decisions are signed; may be empty for readers
    role: Role
    csrf: str  # what a form must send back

    @property
    def may_decide(self) -> bool:
        """Tell whether the visitor may change anything."""
        return self.role is Role.REVIEWER


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """The tokens that open the pages; without any, whoever reaches this machine's loopback is a reviewer."""

    token: SecretStr | None = None
    read_token: SecretStr | None = None
    read_only: bool = False

    @classmethod
    def of(cls, section: Serve) -> "Access":
        """Take the tokens of the config."""
        return cls(token=section.token, read_token=section.read_token, read_only=section.read_only)

    @property
    def asks(self) -> bool:
        """Tell whether a token is needed."""
        return self.token is not None or self.read_token is not None

    @property
    def role_without_token(self) -> Role:
        """Return what visitors may do where no token is asked for."""
        return Role.READER if self.read_only else Role.REVIEWER

    def role_of(self, given: str) -> Role | None:
        """Return what a token allows; both are compared in full, so that time tells nothing."""
        is_reader, is_reviewer = _is_same(given, self.read_token), _is_same(given, self.token)
        if is_reviewer:
            return Role.READER if self.read_only else Role.REVIEWER
        return Role.READER if is_reader else None

    def signing_key(self, keepsake: bytes) -> str:
        """Return what sessions are signed with; a changed token ends them all."""
        tokens = "\0".join(token.get_secret_value() if token else "" for token in (self.token, self.read_token))
        return sha256(keepsake + b"\0" + tokens.encode()).hexdigest()


def _is_same(given: str, token: SecretStr | None) -> bool:
    wanted = token.get_secret_value() if token is not None else secrets.token_hex(32)
    return secrets.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def person_by_default() -> str:
    """Name whoever sits at this machine: ENRICHER_REVIEWER, else the account."""
    try:
        return os.environ.get("ENRICHER_REVIEWER") or getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in containers
        return "reviewer"


@dataclass(slots=True)
class Guesses:
    """Counts wrong tokens, by address and together, over the last minute."""

    clock: Callable[[], float] = time.monotonic
    _wrong: dict[str, deque[float]] = field(default_factory=dict)

    def wait_s(self, address: str) -> int:
        """Return how many seconds an address has to wait before it may try again; 0: it may."""
        now = self.clock()
        self._forget(now)
        mine = self._wrong.get(address, deque())
        everyone = [moment for moments in self._wrong.values() for moment in moments]
        if len(mine) >= TRIES:
            return max(1, int(mine[0] + _A_MINUTE_S - now))
        if len(everyone) >= TRIES_OF_ALL:
            return max(1, int(min(everyone) + _A_MINUTE_S - now))
        return 0

    def note_wrong(self, address: str) -> None:
        """Count a wrong token."""
        self._wrong.setdefault(address, deque()).append(self.clock())

    def _forget(self, now: float) -> None:
        for address, moments in list(self._wrong.items()):
            while moments and moments[0] <= now - _A_MINUTE_S:
                moments.popleft()
            if not moments:
                del self._wrong[address]
