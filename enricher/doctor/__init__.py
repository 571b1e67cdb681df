"""Check what a run would need, before it runs: each check says how one thing is, and what to do about it."""

from enricher.doctor.check import Check, as_text
from enricher.doctor.configured import check_config, check_extras, check_prompts, check_secrets, check_webhooks
from enricher.doctor.machine import check_disk, check_jobs, check_store
from enricher.doctor.model import check_models
from enricher.doctor.platforms import check_clock, check_connection, check_rules, check_trust

__all__ = [
    "Check",
    "as_text",
    "check_clock",
    "check_config",
    "check_connection",
    "check_disk",
    "check_extras",
    "check_jobs",
    "check_models",
    "check_prompts",
    "check_rules",
    "check_secrets",
    "check_store",
    "check_trust",
    "check_webhooks",
]
