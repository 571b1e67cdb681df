"""The platforms that traces come from and annotations go to."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr

from enricher.settings.values import Duration, Section


class PhoenixConnection(Section):
    """An Arize Phoenix server."""

    kind: Literal["phoenix"]
    base_url: str = "http://127.0.0.1:6006"
    api_key_env: str = "PHOENIX_API_KEY"
    api_key: SecretStr | None = None  # filled from the environment variable, never from the file
    timeout: Duration = timedelta(seconds=30)
    page_size: int = Field(default=1000, ge=1, le=1000)
    settle: Duration = timedelta(seconds=30)
    open_parent: Duration = timedelta(minutes=15)
    report_look_back: Duration = timedelta(days=90)
    max_metadata_bytes: int = Field(default=1_000_000, ge=1_000)


class LangSmithConnection(Section):
    """LangSmith, hosted or self-hosted."""

    kind: Literal["langsmith"]
    base_url: str = "https://api.smith.langchain.com"
    workspace_id: str | None = None
    api_key_env: str = "LANGSMITH_API_KEY"
    api_key: SecretStr | None = None  # filled from the environment variable, never from the file
    timeout: Duration = timedelta(seconds=60)
    queries_per_second: float = Field(default=1.0, gt=0)
    calls_per_second: float = Field(default=20.0, gt=0)
    page_size: int = Field(default=1000, ge=1, le=1000)
    settle: Duration = timedelta(seconds=10)
    open_run: Duration = timedelta(hours=1)
    ingest_grace: Duration = timedelta(hours=1)
    extend_trace_retention: bool = False
    max_value_bytes: int = Field(default=200_000, ge=1_000)
    review_queue: str | None = None


class FilesConnection(Section):
    """Exported traces in files, and annotations written beside them."""

    kind: Literal["files"]
    paths: tuple[str, ...]
    output: Path = Path("annotations.jsonl")
    project: str = "default"
    settle: Duration = timedelta(seconds=30)
    open_run: Duration = timedelta(minutes=15)


Connection = Annotated[PhoenixConnection | LangSmithConnection | FilesConnection, Field(discriminator="kind")]
DEFAULT_CONNECTIONS: Mapping[str, PhoenixConnection | LangSmithConnection | FilesConnection] = {
    "phoenix": PhoenixConnection(kind="phoenix")
}
