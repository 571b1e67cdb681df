"""What tells a webhook something is never kept waiting by it."""

import asyncio

from enricher import webhooks
from enricher.settings import Webhook
from tests.servers.failing import FailingServer, Reply
from tests.servers.troubled import Trouble, TroubledProxy


async def test_a_webhook_that_drips_its_answer_is_given_up(monkeypatch):
    monkeypatch.setattr(webhooks, "_TIMEOUT_S", 2.0)
    monkeypatch.setattr(webhooks, "_ATTEMPTS", 1)
    async with FailingServer(Reply()) as server, TroubledProxy(server.base_url).running() as proxy:
        proxy.choose = lambda request: Trouble.DRIP
        async with asyncio.timeout(30):
            assert "can't be reached" in (await webhooks.post(Webhook(url=proxy.base_url), {}) or "")
        assert proxy.met == [Trouble.DRIP]
