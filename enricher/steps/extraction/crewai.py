"""CrewAI: the crew's root span has no input of its own, but lists its tasks."""

from enricher.steps.extraction.family import Family, first_of
from enricher.steps.extraction.payloads import Found
from enricher.trace import Span


class CrewAI(Family):
    """Roots of a crew; the inputs of the kick-off say more than the task templates."""

    prefixes = frozenset({"crew_tasks", "crew_inputs"})

    def input(self, span: Span) -> Found | None:
        """Return the kick-off's inputs, else the last task, which the crew's answer fulfils."""
        inputs = first_of(span.attributes, "crew_inputs")
        if inputs and isinstance(inputs.value, dict) and inputs.value:
            return inputs
        tasks = first_of(span.attributes, "crew_tasks")
        listed = tasks.value if tasks and isinstance(tasks.value, list) else []
        return Found(listed[-1], "crew_tasks#/-1") if listed else None
