"""What nobody may see, and how long it is kept."""

import re
from typing import Literal

from pydantic import Field, SecretStr, field_validator

from enricher.settings.values import Duration, Section


class Privacy(Section):
    """What nobody may see, how long raw replies are kept, and where a confined process may connect to."""

    redact: tuple[Literal["email", "phone", "card", "national_id", "iban"], ...] = ()
    patterns: dict[str, str] = Field(default_factory=dict)
    fields: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    secret_env: str = "ENRICHER_REDACTION_SECRET"
    secret: SecretStr | None = None  # filled from the environment variable, never from the file
    keep_raw_replies: Duration | None = None
    allowed_hosts: tuple[str, ...] = ()

    @field_validator("patterns")
    @classmethod
    def _compile(cls, patterns: dict[str, str]) -> dict[str, str]:
        for name, pattern in patterns.items():
            try:
                is_empty = re.compile(pattern).match("") is not None
            except re.error as error:
                raise ValueError(f"'{name}' is no regular expression: {error}") from None
            if is_empty:
                raise ValueError(f"'{name}' matches the empty text")
        return patterns

    @field_validator("allowed_hosts")
    @classmethod
    def _name_ports(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if not re.fullmatch(r"(?:\[[0-9A-Fa-f:]+\]|[^\s/:\[\]]+):\d{1,5}", host):
                raise ValueError(f"write '{host}' as host:port, for example storage.example.com:443")
        return hosts
