"""Small verdicts and settlements for the tests of the store."""

from enricher.store import Evaluation, RefState, Settlement
from enricher.trace import TraceId, TraceRef
from enricher.verdict import Annotation, DiffResult, Provenance, Segment, Status, Verdict


def ref(number: int = 1, **parts: object) -> TraceRef:
    """Make a ref to trace `t<number>`."""
    given = {"connection": "phoenix", "project": "shop", "trace_id": TraceId(f"t{number}"), "rules": ("sampled",)}
    return TraceRef(**{**given, **parts})


def verdict(number: int = 1, status: Status = Status.OK, prompt: str = "diff@v1", **parts: object) -> Verdict:
    """Make a verdict on the item of trace `t<number>`."""
    segment = Segment(
        segment_id="s1", generated_text="30 days", alignment_status="CONTRADICTED", issue_type="CONTRADICTED"
    )
    given = {
        "trace_id": f"t{number}",
        "span_id": f"s{number}",
        "status": status,
        "result": DiffResult(segments=(segment,)) if status is Status.OK else None,
        "failure": None if status.is_verdict else "no JSON in the reply",
        "provenance": Provenance(judge="diff", engine="local", prompt=prompt),
        "raw_replies": (f"reply to t{number}",),
    }
    return Verdict(**{**given, **parts})


def annotation(number: int = 1, identifier: str = "v1", **parts: object) -> Annotation:
    """Make a write-back on trace `t<number>`."""
    given = {
        "connection": "phoenix",
        "project": "shop",
        "trace_id": f"t{number}",
        "span_id": f"s{number}",
        "name": "context_diff",
        "label": "contradicted",
        "score": 0.0,
        "identifier": identifier,
    }
    return Annotation(**{**given, **parts})


def evaluation(number: int = 1, **parts: object) -> Evaluation:
    """Make an evaluation of the item of trace `t<number>`, with one write-back."""
    given = {
        "item_key": f"t{number}:s{number}",
        "input_hash": "input-1",
        "verdict": verdict(number),
        "annotations": (annotation(number),),
    }
    return Evaluation(**{**given, **parts})


def settlement(run_id: str, number: int = 1, *evaluations: Evaluation, **parts: object) -> Settlement:
    """Make a settlement that ends trace `t<number>`."""
    given = {
        "run_id": run_id,
        "job": "nightly",
        "ref": ref(number),
        "evaluations": evaluations or (evaluation(number),),
        "state": RefState.DONE,
    }
    return Settlement(**{**given, **parts})
