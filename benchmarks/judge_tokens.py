"""What one to four judges on one item send: prompt tokens, the share that a provider's prefix cache serves, replies.

`python benchmarks/judge_tokens.py [--documents 5] [--words 120]`; a scripted server on loopback counts and caches as
providers do (prefixes from 1,024 tokens on, in steps of 128).
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
    system = request.prompt
    if '"conflicts"' in system:
        claims = [
            {
                "sentence": i,
                "claim": t,
                "supports": ["d1.s1"],
                "contradicts": [],
                "explanation": "",
                "status": "SUPPORTED",
            }
            for i, t in sentences.items()
        ]
        return Say({"claims": claims, "conflicts": []})
    if '"claims"' in system:
        claims = [
            {"sentence": i, "claim": t, "evidence": ["d1.s1"], "note": "", "verdict": "SUPPORTED"}
            for i, t in sentences.items()
        ]
        return Say({"claims": claims, "most_dangerous_error": None})
    if '"segments"' in system:
        entries = [
            {"id": i, "evidence": ["d1.s1"], "explanation": "", "status": "FULLY_SUPPORTED", "issue": "NONE"}
            for i in sentences
        ]
        return Say({"segments": entries, "omissions": [], "summary": "All is supported."})
    if "`failing_half`" in system:
        axes = {"faithfulness": 2, "faithfulness_reason": "All follows.", "answer_relevance": 2}
        more = {"answer_relevance_reason": "It answers.", "unsupported": [], "contradicted": [], "fix_note": ""}
        return Say({**axes, **more, "failing_half": "none"})
    return Say({"missing": "", "evidence": ["d1.s1"], "reason": "d1 says it.", "context_relevance": 2, "fix_note": ""})


async def measure(made: Item) -> list[dict[str, Any]]:
    rows = []
    for number in range(1, len(JUDGES) + 1):
        async with OpenAIServer().running() as server:
            server.default = reply
            given = {
                "ENRICHER_ENGINE": "openai",
                "ENRICHER_OPENAI__MODEL": "m",
                "ENRICHER_OPENAI__BASE_URL": server.url,
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
    options = parser.parse_args()
    for row in asyncio.run(measure(item(options.documents, options.words))):
        print(json.dumps(row))


if __name__ == "__main__":
    main()
