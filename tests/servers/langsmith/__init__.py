"""A local stand-in for the LangSmith service that the real `langsmith` SDK talks to over HTTP.

    from tests.servers.langsmith import StandIn

    with StandIn() as service:
        client = langsmith.Client(api_url=service.url, api_key=service.key)

| module | holds |
|---|---|
| `server` | `StandIn`: start, stop, and everything a test may ask of it |
| `switches` | how the service behaves: API generation, delays, re-post mode, limits, retention; scripted faults |
| `state` | projects, runs and feedback, and when each becomes visible |
| `filters` | the filter language: reader and evaluator |
| `querying` | windows, filters, cursors and selects, shared by both API generations |
| `shapes` | run and feedback JSON as v1 and v2 show them |
| `gate` | keys, faults and rate limits in front of every endpoint; the control endpoints |
| `ingest`, `runs`, `feedback`, `queues`, `rules`, `projects` | the endpoints |

`python -m tests.servers.langsmith` runs it.
"""

from tests.servers.langsmith.server import StandIn
from tests.servers.langsmith.switches import Fault, Limit, Switches

__all__ = ["Fault", "Limit", "StandIn", "Switches"]
