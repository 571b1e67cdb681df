"""What listens, and who is told how things stand."""

from datetime import timedelta
from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator

from enricher.settings.values import Duration, Section, Share, Url


class Serve(Section):
    """Where `enricher serve` listens, who may come, and the secret of its webhooks."""

    host: str = "127.0.0.1"
    port: int = Field(default=8330, ge=0, le=65535)
    hosts: tuple[str, ...] = ()  # further names under which browsers ask for it
    token_env: str = "ENRICHER_SERVE_TOKEN"
    token: SecretStr | None = None  # filled from the environment variable, never from the file
    read_token_env: str = "ENRICHER_SERVE_READ_TOKEN"
    read_token: SecretStr | None = None  # filled from the environment variable, never from the file
    read_only: bool = False
    session: Duration = timedelta(hours=12)
    claim: Duration = timedelta(minutes=15)  # how long an item is a person's own after their last look
    secret_env: str = "ENRICHER_SERVE_SECRET"
    secret: SecretStr | None = None  # filled from the environment variable, never from the file
    body_limit: int = Field(default=1_000_000, ge=1_000)


class Health(Section):
    """Where `enricher schedule` tells how it is."""

    host: str = "127.0.0.1"
    port: int = Field(default=8331, ge=0, le=65535)


class Telemetry(Section):
    """Where the product's own spans and figures go, by OTLP over HTTP; nowhere unless an endpoint is named."""

    endpoint: Url | None = None
    traces: bool = True
    metrics: bool = True
    project: str = "trace-enricher"
    into_judged_project: bool = False
    texts: bool = False
    headers_env: str = "ENRICHER_OTLP_HEADERS"
    headers: SecretStr | None = None  # filled from the environment variable, never from the file
    timeout: Duration = timedelta(seconds=10)


class Webhook(Section):
    """Who is told of an alert, and in whose form."""

    url: Url | None = Field(None, description="who is told; this, or url_env")
    url_env: str | None = Field(
        None, description="the variable that holds a URL which is itself a secret, as Slack's are"
    )
    form: Literal["slack", "generic"] = Field("generic", description="generic: JSON of our own, signed with secret_env")
    secret_env: str | None = Field(None, description="the environment variable whose value signs the generic form")
    secret: SecretStr | None = None  # the secret's value, filled from the variable
    secret_url: SecretStr | None = None  # the URL's value, filled from the variable

    @model_validator(mode="after")
    def _has_one_address(self) -> Self:
        if (self.url is None) == (self.url_env is None):
            raise ValueError("give either url or url_env")
        return self


class Alerts(Section):
    """When people are told that the rates of a job have moved; null: never."""

    window: int = Field(default=1, ge=1, le=1000)
    min_items: int = Field(default=20, ge=1)
    unsupported: Share | None = None
    contradicted: Share | None = None
    failed: Share | None = None
    rejected: Share | None = None
    refused: Share | None = None
    disputed: Share | None = None
    shift: float | None = Field(default=None, gt=0)  # population stability index
    drift: Share | None = None
    drift_runs: int = Field(default=14, ge=2, le=1000)
    webhooks: tuple[Webhook, ...] = ()
