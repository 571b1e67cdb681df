"""A model that a test holds back, so that it can act while calls are under way."""

import asyncio

from tests.servers.openai import OpenAIServer, Request


class HeldBack(OpenAIServer):
    """A fair model that answers only so many requests; the others wait until it is let go."""

    def __init__(self, answers: int) -> None:
        super().__init__()
        self._left = answers
        self.let_go = asyncio.Event()

    async def _respond(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        self._left -= 1
        if self._left < 0:
            await self.let_go.wait()
        return await super()._respond(request, writer)


def questions(model: OpenAIServer, answer: str) -> int:
    """Count the requests about an answer."""
    return sum(answer in request.prompt for request in model.requests)
