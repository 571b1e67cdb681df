"""The config: YAML and environment, read into frozen settings."""

from enricher.settings.connections import (
    DEFAULT_CONNECTIONS,
    Connection,
    FilesConnection,
    LangSmithConnection,
    PhoenixConnection,
)
from enricher.settings.jobs import Job, Schedule
from enricher.settings.judging import (
    Compare,
    Condition,
    DimensionName,
    EngineName,
    FocusSite,
    JudgeChoice,
    JudgeName,
    PromptNames,
    SecondCheck,
)
from enricher.settings.loading import load
from enricher.settings.measuring import Calibrate, Drift, Regress
from enricher.settings.misfits import place_of
from enricher.settings.models import Batch, Budget, Fallback, HubSettings, JobBudget, ModelPrice, OpenAISettings
from enricher.settings.privacy import Privacy
from enricher.settings.root import Dask, Settings
from enricher.settings.rules import DEFAULT_RULES, Paths, Policy, ReportRule, RiskLevel, Rule, SpanRule
from enricher.settings.secrets import with_secrets, without_secrets
from enricher.settings.source import fingerprint
from enricher.settings.values import Duration, Section, Share, duration
from enricher.settings.watching import Alerts, Health, Serve, Telemetry, Webhook

__all__ = [
    "DEFAULT_CONNECTIONS",
    "DEFAULT_RULES",
    "Alerts",
    "Batch",
    "Budget",
    "Calibrate",
    "Compare",
    "Condition",
    "Connection",
    "Dask",
    "DimensionName",
    "Drift",
    "Duration",
    "EngineName",
    "Fallback",
    "FilesConnection",
    "FocusSite",
    "Health",
    "HubSettings",
    "Job",
    "JobBudget",
    "JudgeChoice",
    "JudgeName",
    "LangSmithConnection",
    "ModelPrice",
    "OpenAISettings",
    "Paths",
    "PhoenixConnection",
    "Policy",
    "Privacy",
    "PromptNames",
    "Regress",
    "ReportRule",
    "RiskLevel",
    "Rule",
    "Schedule",
    "SecondCheck",
    "Section",
    "Serve",
    "Settings",
    "Share",
    "SpanRule",
    "Telemetry",
    "Webhook",
    "duration",
    "fingerprint",
    "load",
    "place_of",
    "with_secrets",
    "without_secrets",
]
