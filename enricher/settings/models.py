"""The model behind an OpenAI-compatible endpoint, how it is called, and what it may cost."""

from datetime import timedelta
from typing import Literal

from pydantic import ConfigDict, Field, SecretStr

from enricher.settings.judging import PromptNames
from enricher.settings.values import Duration, Section, Share, Url


class Budget(Section):
    """Caps on what models may cost, in the currency of the prices; None: no cap."""

    per_run: float | None = Field(default=None, gt=0)
    per_day: float | None = Field(default=None, gt=0)


class JobBudget(Budget):
    """Caps of one job, beside those of the whole config."""

    max_traces: int | None = Field(default=None, ge=1)  # of one run


class ModelPrice(Section):
    """Money for a million tokens of one model."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    prompt: float = Field(ge=0, alias="in", description="for a million prompt tokens")
    cached: float | None = Field(None, ge=0, description="for a million cached ones; null: as any prompt token")
    completion: float = Field(ge=0, alias="out", description="for a million completion tokens")


class Fallback(Section):
    """Another endpoint, or another key, for the same model."""

    base_url: Url = Field(description="of an endpoint that offers the same model")
    model: str | None = Field(None, description="how this endpoint names the model; null: as openai.model does")
    api_key_env: str = Field("OPENAI_API_KEY", description="the environment variable that holds its key")
    api_key: SecretStr | None = None  # filled from the environment variable, never from the file
    api_version: str | None = Field(None, description="for Azure's deployment URLs")


class Batch(Section):
    """How calls are collected into batch files."""

    collect: Duration = timedelta(seconds=20)
    poll: Duration = timedelta(seconds=30)
    max_calls: int = Field(default=10_000, ge=1, le=50_000)
    traces: int = Field(default=2000, ge=1)
    live_after: Duration | None = None
    tries: int = Field(default=3, ge=1)
    price_factor: Share = 0.5


class HubSettings(Section):
    """A published detector of unsupported statements, run on this machine by `transformers`."""

    model: str = ""
    revision: str | None = None
    form: Literal["auto", "entailment", "score", "tokens"] = "auto"
    threshold: Share = 0.5
    max_tokens: int = Field(default=512, ge=64)
    batch: int = Field(default=8, ge=1, le=1024)
    download: bool = False
    run_code: bool = False


class OpenAISettings(Section):
    """A model behind any OpenAI-compatible endpoint."""

    base_url: Url = "https://api.openai.com/v1"
    model: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    api_key: SecretStr | None = None  # filled from the environment variable, never from the file
    api_version: str | None = None
    prompts: PromptNames = PromptNames()
    max_tokens: int = Field(default=2048, ge=64)
    context_window: int | None = Field(default=None, ge=512)
    timeout: Duration = timedelta(seconds=60)
    deadline: Duration = timedelta(seconds=300)
    deadline_per_trace: Duration | None = None
    patience: Duration = timedelta(seconds=60)
    attempts: int = Field(default=4, ge=1, le=20)
    concurrency: int = Field(default=16, ge=1, le=1024)
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    fallbacks: tuple[Fallback, ...] = ()
    transport: Literal["live", "batch"] = "live"
    batch: Batch = Batch()
    seed: int | None = None
    price_in: float = Field(default=0.0, ge=0)
    price_cached: float | None = Field(default=None, ge=0)
    price_out: float = Field(default=0.0, ge=0)
    prices: dict[str, ModelPrice] = Field(default_factory=dict)
