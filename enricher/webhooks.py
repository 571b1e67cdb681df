"""Tell a webhook something: signed where it has a secret, patiently, and without ever showing its address."""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

import httpx

from enricher.errors import EnricherError
from enricher.settings import Webhook

SIGNATURE = "X-Enricher-Signature"
_ATTEMPTS = 3
_TIMEOUT_S = 10.0


def name_of(hook: Webhook) -> str:
    """Return a digest that tells one webhook from another."""
    return hashlib.sha256(_url(hook).encode()).hexdigest()[:16]


async def post(hook: Webhook, payload: Mapping[str, Any]) -> str | None:
    """Send a payload as JSON; return why the webhook did not take it, None when it did."""
    body = json.dumps(payload).encode()
    problem = "it was not tried"
    async with httpx.AsyncClient(timeout=_TIMEOUT_S) as client:
        for attempt in range(_ATTEMPTS):
            if attempt:
                await asyncio.sleep(0.5 * 4.0 ** (attempt - 1))
            headers = {"Content-Type": "application/json", "User-Agent": "trace-enricher", **_signed(hook, body)}
            try:
                # The client's own limit begins anew with each byte of an answer that drips.
                async with asyncio.timeout(_TIMEOUT_S):
                    answer = await client.post(_url(hook), content=body, headers=headers)
            except EnricherError as error:  # local_only refuses it
                return str(error)
            except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
                # Never the URL, which may be a secret.
                problem = f"it can't be reached ({type(error).__name__})"
                continue
            if answer.is_success:
                return None
            problem = f"it answered {answer.status_code}"
            if answer.status_code not in (408, 425, 429) and answer.status_code < 500:
                break
    return problem


def _url(hook: Webhook) -> str:
    return hook.secret_url.get_secret_value() if hook.secret_url else hook.url or ""


def _signed(hook: Webhook, body: bytes) -> dict[str, str]:
    """Sign the moment and the body, so that the receiver can tell who sent it, and that it is not an old one."""
    if hook.secret is None:
        return {}
    moment = str(int(time.time()))
    digest = hmac.digest(hook.secret.get_secret_value().encode(), moment.encode() + b"." + body, "sha256").hex()
    return {SIGNATURE: f"t={moment},v1={digest}"}


def plain_for_slack(text: str) -> str:
    """Return a text that means nothing to Slack's markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
