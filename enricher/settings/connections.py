"""The platforms that traces come from and annotations go to."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr

from enricher.settings.values import Duration, Section, Url


class PhoenixConnection(Section):
    """An Arize Phoenix server."""

    kind: Literal["phoenix"]
    base_url: Url = "http://127.0.0.1:6006"
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

    kind: Literal["langsmith"] = Field(description="LangSmith, hosted or self-hosted")
    base_url: Url = Field(
        "https://api.smith.langchain.com", description="for the EU or a self-hosted instance, its own"
    )
    workspace_id: str | None = Field(None, description="needed with keys of a whole organisation")
    api_key_env: str = Field("LANGSMITH_API_KEY", description="the environment variable that holds the key")
    api_key: SecretStr | None = None  # filled from the environment variable, never from the file
    timeout: Duration = Field(timedelta(seconds=60), description="for one request")
    queries_per_second: float = Field(1.0, gt=0, description="pace of run queries")
    calls_per_second: float = Field(20.0, gt=0, description="pace of everything else, feedback above all")
    page_size: int = Field(1000, ge=1, le=1000, description="traces in one answer; the old API takes 100 at most")
    settle: Duration = Field(
        timedelta(seconds=10), description="a trace counts as finished so long after its root ended"
    )
    open_run: Duration = Field(timedelta(hours=1), description="how long a run without an end holds its trace back")
    ingest_grace: Duration = Field(
        timedelta(hours=1), description='until which age "run not found" means "not ingested yet"'
    )
    extend_trace_retention: bool = Field(
        False, description="whether feedback upgrades traces to the long retention, which is billed"
    )
    max_value_bytes: int = Field(200_000, ge=1_000, description="a longer diff is cut between segments and flagged")
    review_queue: str | None = Field(
        None, description="annotation queue to which traces in review are added; created when missing"
    )


class FilesConnection(Section):
    """Exported traces in files, and annotations written beside them."""

    kind: Literal["files"] = Field(description="exported traces in files")
    paths: tuple[str, ...] = Field(
        description="files or patterns: records, OTLP JSON, Phoenix spans, LangSmith run trees; gzip too"
    )
    output: Path = Field(
        Path("annotations.jsonl"),
        description="where annotations are written, one line each; the same key replaces itself",
    )
    project: str = Field("default", description="name of the project that all of it belongs to")
    settle: Duration = Field(
        timedelta(seconds=30), description="a trace counts as finished when nothing was added for so long"
    )
    open_run: Duration = Field(timedelta(minutes=15), description="how long a span without its parent is waited for")


Connection = Annotated[PhoenixConnection | LangSmithConnection | FilesConnection, Field(discriminator="kind")]
DEFAULT_CONNECTIONS: Mapping[str, PhoenixConnection | LangSmithConnection | FilesConnection] = {
    "phoenix": PhoenixConnection(kind="phoenix")
}
