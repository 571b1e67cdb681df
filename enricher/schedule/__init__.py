"""Keep the times of the jobs, on any number of machines at once: each is done once, and whoever is alive does it.

APScheduler's timers, kept in the store, say what is due; that is written down before the clock goes on
(`enricher.store.timers`). From there on nothing depends on one process: whoever gets the lease of a job does what is
written down as due, and what a process leaves behind, because it was stopped or killed, is still written down.
"""

from enricher.schedule.alerting import Alerting
from enricher.schedule.clock import started_clock
from enricher.schedule.keeping import LOOK_S, Entry, Schedule, entries_of
from enricher.schedule.reloading import ConfigStanding, ConfigWatch, LiveApp, check_entries
from enricher.schedule.standing import Standing, standings, trigger_of

__all__ = [
    "LOOK_S",
    "Alerting",
    "ConfigStanding",
    "ConfigWatch",
    "Entry",
    "LiveApp",
    "Schedule",
    "Standing",
    "check_entries",
    "entries_of",
    "standings",
    "started_clock",
    "trigger_of",
]
