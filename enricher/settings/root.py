"""The whole config."""

from datetime import timedelta
from pathlib import Path
from typing import Literal

from pydantic import Field

from enricher.settings.connections import DEFAULT_CONNECTIONS, Connection
from enricher.settings.jobs import Job, Schedule
from enricher.settings.judging import Compare, EngineName
from enricher.settings.measuring import Calibrate, Drift, Regress
from enricher.settings.models import Budget, HubSettings, OpenAISettings
from enricher.settings.privacy import Privacy
from enricher.settings.values import Duration, Section
from enricher.settings.watching import Alerts, Health, Serve, Telemetry


class Dask(Section):
    """The cluster of `executor: dask`."""

    scheduler: str = ""  # such as tcp://scheduler:8786
    shard_size: int = Field(default=25, ge=1, le=1000)
    lost_after: Duration = timedelta(seconds=60)


class Settings(Section):
    """Everything that can be configured; `config/default.yaml` explains each key."""

    store: str = "sqlite:///trace-enricher.db"
    engine: EngineName = "local"
    openai: OpenAISettings = OpenAISettings()
    hub: HubSettings = HubSettings()
    budget: Budget = Budget()
    prompt_folders: tuple[Path, ...] = ()
    concurrency: int = Field(default=32, ge=1, le=1024)
    executor: Literal["local", "dask"] = "local"
    workers: int = Field(default=1, ge=1, le=256)
    dask: Dask = Dask()
    report_url: str | None = None
    logs: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning", "error"] | None = None
    log_texts: bool = False
    local_only: bool = False
    privacy: Privacy = Privacy()
    telemetry: Telemetry = Telemetry()
    alerts: Alerts = Alerts()
    serve: Serve = Serve()
    health: Health = Health()
    compare: Compare = Compare()
    calibrate: Calibrate = Calibrate()
    regress: Regress = Regress()
    drift: Drift = Drift()
    connections: dict[str, Connection] = Field(default_factory=lambda: dict(DEFAULT_CONNECTIONS))
    jobs: dict[str, Job] = Field(default_factory=lambda: {"nightly": Job(schedule=Schedule())})
