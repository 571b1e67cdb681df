"""Look at the models, by one short question each; it costs a few tokens, and so it is asked only on demand."""

from collections.abc import Iterator

from enricher.doctor.check import Check
from enricher.errors import EnricherError
from enricher.judges.chat import Chat, ChatOptions, Reply
from enricher.panel import chat_options
from enricher.settings import Settings

_WITHIN_S = 30.0
_SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}


async def check_models(settings: Settings) -> list[Check]:
    """Ask each configured endpoint whether it answers in the form that judges need."""
    return [await _ask(options) for options in _each(settings)]


def _each(settings: Settings) -> Iterator[ChatOptions]:
    """Yield the options of each endpoint and each model, alone: one that stands in for another would hide it."""
    options = chat_options(settings)
    quick = {"attempts": 1, "deadline_s": _WITHIN_S, "timeout_s": min(_WITHIN_S, options.timeout_s), "fallbacks": ()}
    alone = options.model_copy(update=quick)
    yield alone
    for address in options.fallbacks:
        yield alone.model_copy(update=dict(address))
    others = {job.second_check.model for job in settings.jobs.values() if "model" in job.second_check.by}
    for name in sorted(name for name in others if name and name != options.model):
        yield alone.model_copy(update={"model": name})


async def _ask(options: ChatOptions) -> Check:
    chat = Chat(options)
    name = f"model {options.model} at {chat.place}"
    try:
        reply = await chat.ask(
            ({"role": "user", "content": 'Reply with the JSON object {"ok": true} and nothing else.'},),
            schema=_SCHEMA, schema_name="ok", max_tokens=64,
        )  # fmt: skip
    except EnricherError as error:
        return Check(name=name, ok=False, problems=(str(error),))
    finally:
        await chat.aclose()
    if not isinstance(reply, Reply):
        return Check(name=name, ok=False, problems=(f"{reply.status}: {reply.failure}",))
    tokens = reply.usage.prompt_tokens + reply.usage.completion_tokens
    facts = {
        "answers": f"in {reply.usage.latency_s:.1f} s, {tokens} tokens",
        "form": reply.form,
        "snapshot": reply.snapshot or "not told",
    }
    hints = []
    if reply.form == "text":
        hints.append("it takes no structured output, so that replies fail more often")
    if reply.snapshot and reply.snapshot != options.model:
        hints.append(f"it answers as {reply.snapshot}; pin that name in the config, so that a new one shows")
    return Check(name=name, ok=True, facts=facts, problems=tuple(hints))
