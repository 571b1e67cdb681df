"""What calls cost: from reported tokens after the call, and estimated before it."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from enricher.judges.windows import tokens
from enricher.prompts import Message
from enricher.verdict import Usage

_TEMPLATE = 16  # tokens that a chat template adds


class Prices(BaseModel):
    """Money for a million tokens of one model; cached tokens cost what other prompt tokens do unless said."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: float = Field(default=0.0, ge=0)
    cached: float | None = Field(default=None, ge=0)
    completion: float = Field(default=0.0, ge=0)

    @property
    def are_known(self) -> bool:
        """Tell whether anything costs anything."""
        return bool(self.prompt or self.completion)

    def cost(self, *, prompt: int, cached: int, completion: int) -> float:
        """Return what a call cost that used so many tokens; `cached` ones are a part of `prompt`."""
        cached = min(cached, prompt)
        price = self.prompt if self.cached is None else self.cached
        return ((prompt - cached) * self.prompt + cached * price + completion * self.completion) / 1e6


def estimate(messages: Sequence[Message], max_tokens: int, prices: Prices) -> Usage:
    """Estimate one call before it is made, rather too much than too little: with a reply of `max_tokens`."""
    prompt = sum(tokens(message["content"]) for message in messages) + _TEMPLATE
    cost = prices.cost(prompt=prompt, cached=0, completion=max_tokens)
    return Usage(prompt_tokens=prompt, completion_tokens=max_tokens, cost=cost, calls=1)
