"""A job: what to pull, when, and how to judge it."""

from datetime import timedelta
from typing import Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import field_validator, model_validator

from enricher.settings.judging import JudgeChoice, SecondCheck
from enricher.settings.models import JobBudget
from enricher.settings.rules import DEFAULT_RULES, Paths, Policy, RiskLevel, Rule
from enricher.settings.values import Duration, Section, did_you_mean
from enricher.settings.watching import Webhook


class Schedule(Section):
    """When `enricher schedule` runs a job: by a crontab line or at an interval."""

    cron: str | None = "0 2 * * *"
    every: Duration | None = None
    timezone: str = "UTC"  # of the crontab line
    grace: Duration = timedelta(hours=6)

    @model_validator(mode="before")
    @classmethod
    def _one_of_two(cls, given: object) -> object:
        if not isinstance(given, dict) or "every" not in given or given["every"] is None:
            return given
        if given.get("cron") is not None:
            raise ValueError("give either cron or every, not both")
        return {**given, "cron": None}

    @field_validator("cron")
    @classmethod
    def _is_a_crontab_line(cls, line: str | None) -> str | None:
        if line is not None:
            # Takes a twentieth of a second to import; only those who schedule jobs should pay.
            from enricher.timetable import check_line

            check_line(line)
        return line

    @field_validator("every")
    @classmethod
    def _is_some_time(cls, interval: timedelta | None) -> timedelta | None:
        if interval is not None and interval < timedelta(seconds=1):
            raise ValueError("must be at least 1s")
        return interval

    @field_validator("timezone")
    @classmethod
    def _exists(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            hint = did_you_mean(name, available_timezones())
            raise ValueError(f"there is no time zone '{name}'{hint}") from None
        return name

    @model_validator(mode="after")
    def _is_ever_due(self) -> Self:
        if self.cron is None and self.every is None:
            raise ValueError("give cron or every; a job without a schedule has schedule: null")
        return self


class Job(Section):
    """What to pull, how to judge it, and where the results go."""

    connection: str = "phoenix"
    projects: tuple[str, ...] | Literal["all"] = ("default",)
    rules: tuple[Rule, ...] = DEFAULT_RULES
    judges: tuple[JudgeChoice, ...] = (JudgeChoice(judge="diff"),)
    second_check: SecondCheck = SecondCheck()
    risk_level: RiskLevel = "normal"
    policy: Policy = Policy()
    budget: JobBudget = JobBudget()
    schedule: Schedule | None = None
    first_window: Duration = timedelta(hours=24)
    look_back: Duration = timedelta(minutes=30)
    give_up_after: Duration = timedelta(hours=24)
    annotation_prefix: str = ""
    citation_base: Literal[0, 1] | None = None
    additional_constraints: str = ""
    examples: str = ""
    paths: Paths = Paths()
    send_report: tuple[Webhook, ...] = ()

    @field_validator("rules")
    @classmethod
    def _names_are_unique(cls, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        names = [rule.name for rule in rules]
        if len(set(names)) != len(names):
            raise ValueError("two rules have the same name")
        return rules

    @field_validator("judges")
    @classmethod
    def _judges_are_unique(cls, judges: tuple[JudgeChoice, ...]) -> tuple[JudgeChoice, ...]:
        names = [choice.judge for choice in judges]
        if len(set(names)) != len(names):
            raise ValueError("a judge is named twice")
        return judges
