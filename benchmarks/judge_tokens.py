"""What one to four judges on one item send: prompt tokens, the share that a provider's prefix cache serves, replies.

`python benchmarks/judge_tokens.py [--documents 5] [--words 120] [--window 128000]`; a scripted server on loopback
counts and caches as providers do (prefixes from 1,024 tokens on, in steps of 128). Where the item does not fit the
window, the judges ask about it in parts, and there are more calls.
"""

import argparse
import asyncio
import json
import random
import re
import sys
from pathlib import Path
from typing import Any

from enricher.panel import Panel
from enricher.records import item_of
from enricher.settings import Job, JudgeChoice, load
from enricher.steps.segmentation import split_item
from enricher.trace import Item
from enricher.verdict import Usage

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.servers.openai import OpenAIServer, Request, Say

JUDGES = ("diff", "faithfulness", "consistency", "halves")
WORDS = ("tenant", "landlord", "pays", "rent", "deposit", "notice", "period", "month", "heating", "repair", "key")


def item(documents: int, words: int) -> Item:
    chance = random.Random(7)

    def text() -> str:
        sentences = [" ".join(chance.choices(WORDS, k=12)).capitalize() + "." for _ in range(words // 12)]
        return " ".join(sentences)

    texts = [{"id": f"d{n}", "text": text()} for n in range(1, documents + 1)]
    return split_item(item_of({"id": "t", "question": "What does it say?", "documents": texts, "answer": text()}))


def reply(request: Request) -> Say:
    """Answer in the shape that the prompt asks for, with one passage a sentence."""
    sentences = dict(re.findall(r"^\[(s\d+)\] (.*)$", request.prompt, re.M))
    # Of a context that is cut, each window has other sentences, and a request for the claims alone has none.
    shown = request.prompt[request.prompt.rfind("<document-") :]
    evidence = re.findall(r"^\[([\w-]+\.s\d+)\] ", shown, re.M)[:1]
    system = request.prompt
    if '"conflicts"' in system:
        claims = [
            {
                "sentence": i,
                "claim": t,
                "supports": evidence,
                "contradicts": [],
                "explanation": "",
                "status": "SUPPORTED" if evidence else "UNSUPPORTED",
            }
            for i, t in sentences.items()
        ]
        return Say({"claims": claims, "conflicts": []})
    if '"claims"' in system:
        claims = [
            {"sentence": i, "claim": t, "evidence": evidence, "note": "", "verdict": "SUPPORTED"}
            for i, t in sentences.items()
        ]
        return Say({"claims": claims, "most_dangerous_error": None})
    if '"segments"' in system:
        entries = [
            {"id": i, "evidence": evidence, "explanation": "", "status": "FULLY_SUPPORTED", "issue": "NONE"}
            for i in sentences
        ]
        return Say({"segments": entries, "omissions": [], "summary": "All is supported."})
    if "`failing_half`" in system:
        axes = {"faithfulness": 2, "faithfulness_reason": "All follows.", "answer_relevance": 2}
        more = {"answer_relevance_reason": "It answers.", "unsupported": [], "contradicted": [], "fix_note": ""}
        return Say({**axes, **more, "failing_half": "none"})
    return Say({"missing": "", "evidence": evidence, "reason": "d1 says it.", "context_relevance": 2, "fix_note": ""})


async def measure(made: Item, window: int) -> list[dict[str, Any]]:
    rows = []
    for number in range(1, len(JUDGES) + 1):
        async with OpenAIServer().running() as server:
            server.default = reply
            given = {
                "ENRICHER_ENGINE": "openai",
                "ENRICHER_OPENAI__MODEL": "m",
                "ENRICHER_OPENAI__BASE_URL": server.url,
                "ENRICHER_OPENAI__CONTEXT_WINDOW": str(window),
            }
            choices = tuple(JudgeChoice(judge=name) for name in JUDGES[:number])
            panel = Panel.of(load(None, given), Job(judges=choices))
            verdicts = [await judging.judge.judge(made) for judging in panel.judges]
            await panel.aclose()
        assert all(verdict.status == "OK" for verdict in verdicts), [verdict.failure for verdict in verdicts]
        usage = sum((verdict.usage for verdict in verdicts), Usage())
        rows.append(
            {
                "judges": ", ".join(JUDGES[:number]),
                "calls": usage.calls,
                "prompt_tokens": usage.prompt_tokens,
                "cached_share": round(usage.cached_tokens / usage.prompt_tokens, 3),
                "completion_tokens": usage.completion_tokens,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=5)
    parser.add_argument("--words", type=int, default=120)
    parser.add_argument("--window", type=int, default=128_000, help="tokens that the model takes")
    options = parser.parse_args()
    for row in asyncio.run(measure(item(options.documents, options.words), options.window)):
        print(json.dumps(row))


if __name__ == "__main__":
    main()
