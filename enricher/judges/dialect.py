"""What one server turned out to take: forms of structured output and parameters, learnt from what it refuses."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from enricher.judges.pace import Slot
from enricher.prompts import Message

FORMS = ("json_schema", "json_object", "text")  # what is asked for, in falling order
_ABOUT_FORM = re.compile(r"response_?format|json_?schema|json_?object|structured.?output|guided|grammar", re.I)
_ABOUT_TOKENS = re.compile(r"max_completion_tokens", re.I)
_TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context|context (?:length|window|size)|prompt is too long|input (?:is )?too long"
    r"|too many (?:input )?tokens|reduce the length|exceeds? the (?:available |model'?s? )?context|n_ctx",
    re.I,
)
_LIMIT = re.compile(
    r"(?:context (?:length|window|size)\D{0,24}|maximum of |n_ctx\D{0,4})(\d{3,8})|(\d{3,8})\D{0,12} context", re.I
)
_FILTERED = re.compile(r"content_?(?:filter|policy)|ResponsibleAIPolicyViolation|invalid_prompt", re.I)
_NO_MONEY = re.compile(r"insufficient_quota|billing|credit balance|exceeded your current quota", re.I)


@dataclass(slots=True, eq=False)
class Question:
    """One question on its way."""

    messages: Sequence[Message]
    schema: Mapping[str, Any]
    schema_name: str
    max_tokens: int
    form: int = 0  # index into FORMS, lowered when the server refuses it
    calls: int = 0
    slot: Slot | None = None  # what the last call took of the minute


@dataclass(slots=True)
class Dialect:
    """How to put questions to one server; kept for the run."""

    model: str
    seed: int | None = None
    form: int = 0  # index into FORMS
    token_key: str = "max_tokens"
    omitted: set[str] = field(default_factory=set)
    has_answered: bool = False

    def body(self, question: Question) -> dict[str, Any]:
        """Put a question into the words of this server."""
        body: dict[str, Any] = {"model": self.model, "messages": list(question.messages), "temperature": 0}
        body[self.token_key] = question.max_tokens
        if self.seed is not None:
            body["seed"] = self.seed
        form = FORMS[max(question.form, self.form)]
        if form == "json_schema":
            asked = {"name": question.schema_name, "strict": True, "schema": question.schema}
            body["response_format"] = {"type": form, "json_schema": asked}
        elif form == "json_object":
            body["response_format"] = {"type": form}
        return {key: value for key, value in body.items() if key not in self.omitted}

    def answered(self, question: Question) -> str:
        """Remember what a lower form of asking achieved where a higher one was refused; return the form."""
        self.form = max(self.form, question.form)
        self.has_answered = True
        return FORMS[self.form]

    def gives_in(self, status: int, text: str, body: Mapping[str, Any], question: Question) -> bool:
        """Change the way of asking to what the server takes; tell whether the question is worth sending again."""
        has_form = "response_format" in body
        is_named = has_form and bool(_ABOUT_FORM.search(text))
        if not is_named and status in (400, 422):
            if "max_tokens" in body and _ABOUT_TOKENS.search(text):
                self.token_key = "max_completion_tokens"
                return True
            for key in ("temperature", "seed"):
                if key in body and key in text:
                    self.omitted.add(key)
                    return True
        if not has_form or not (is_named or status in (400, 422)):
            return False
        # One form lower, or as low as a neighbour has learnt meanwhile.
        question.form = max(question.form + 1, self.form)
        if is_named:
            self.form = question.form
        return True


def is_too_long(status: int, text: str) -> bool:
    """Tell whether the request was refused because it does not fit the model's context window."""
    return status in (400, 413, 422, 500) and (status == 413 or bool(_TOO_LONG.search(text)))


def stated_limit(text: str) -> int | None:
    """Return the context window that a refusal names."""
    limit = _LIMIT.search(text)
    return int(limit[1] or limit[2]) if limit else None


def is_filtered(status: int, text: str) -> bool:
    """Tell whether a content filter refused the request."""
    return status == 400 and bool(_FILTERED.search(text))


def is_out_of_money(status: int, text: str) -> bool:
    """Tell whether the account behind the key can pay for no further call."""
    return status == 402 or (status == 429 and bool(_NO_MONEY.search(text)))
