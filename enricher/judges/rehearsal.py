"""A model client that asks nobody: each question is answered with what it would cost at most."""

from collections.abc import Mapping, Sequence
from typing import Any

from enricher.judges.chat import Chat, ChatOptions, NoReply, Reply
from enricher.judges.prices import estimate
from enricher.prompts import Message
from enricher.verdict import Status


class Rehearsal(Chat):
    """Stands where the model client stands, so that every judge composes exactly what it would send."""

    def __init__(self, options: ChatOptions, *, price_factor: float = 1.0) -> None:
        super().__init__(options)
        self._price_factor = price_factor

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any],
        schema_name: str = "verdict",
        max_tokens: int | None = None,
    ) -> Reply | NoReply:
        """Estimate the question, with the longest reply it may have and without retries."""
        usage = estimate(messages, max_tokens or self.options.max_tokens, self.options.prices)
        usage = usage.model_copy(update={"cost": self._price_factor * usage.cost})
        return NoReply(status=Status.BUDGET_EXCEEDED, failure="only estimated", usage=usage)
