"""What people say on the platforms under our names is read as their label; what we and other programs wrote is not."""

from enricher.seams import LabelSource
from enricher.verdict import Annotation
from tests.servers.phoenix import rag_trace


def said(label, score=None):
    return {"name": "context_diff", "result": {"label": label, "score": score, "explanation": f"because {label}"}}


def ours(phoenix, span, **parts):
    base = {"connection": "phoenix", "project": phoenix.project, "trace_id": span.trace_id, "span_id": span.span_id}
    return Annotation(**base, name="context_diff", label="contradicted", **parts)


async def test_on_phoenix_only_people_count_and_not_what_we_wrote_for_them(phoenix):
    trace, other = rag_trace(), rag_trace()
    await phoenix.seed(trace, other)
    root, second = trace[-1], other[-1]
    connector = phoenix.connector()
    assert isinstance(connector, LabelSource)
    await connector.annotate(
        [
            ours(phoenix, root, identifier="trace-enricher/diff/local"),
            ours(phoenix, root, identifier="trace-enricher/review/ada", annotator_kind="HUMAN"),
        ]
    )
    await phoenix.annotate_span(root.span_id, **said("faithful", 1.0))
    await phoenix.annotate_span(root.span_id, identifier="another", annotator_kind="LLM", **said("partial"))
    await phoenix.annotate_span(root.span_id, name="helpfulness", result={"label": "yes"})
    await phoenix.annotate_span(second.span_id, **said("unsupported"))
    spans = [root.span_id, second.span_id, "00000000000000aa"]
    found = await connector.peoples_labels(phoenix.project, spans, ["context_diff"])
    assert {span: [(one.label, one.score, one.comment) for one in labels] for span, labels in found.items()} == {
        root.span_id: [("faithful", 1.0, "because faithful")],
        second.span_id: [("unsupported", None, "because unsupported")],
    }
    assert found[root.span_id][0].reported_at is not None
    await connector.aclose()


async def test_on_langsmith_only_people_count_and_not_what_we_wrote_for_them(langsmith_platform):
    platform = langsmith_platform
    root, other = platform.trace(), platform.trace()
    connector = platform.connector()
    assert isinstance(connector, LabelSource)
    await connector.annotate(
        [
            platform.annotation(root),
            platform.annotation(root, identifier="trace-enricher/review/ada", annotator_kind="HUMAN"),
        ]
    )
    platform.report(root.id, key="context_diff", value="faithful", comment="fine")
    platform.report(root.id, key="context_diff", value="partial", feedback_source_type="model")
    platform.report(root.id, key="user_score", score=0)
    platform.report(other.id, key="context_diff", score=0.0)
    found = await connector.peoples_labels(platform.project, [str(root.id), str(other.id)], ["context_diff"])
    assert {run: [(one.label, one.score, one.comment) for one in labels] for run, labels in found.items()} == {
        str(root.id): [("faithful", None, "fine")],
        str(other.id): [(None, 0.0, None)],
    }
    await connector.aclose()


async def test_on_langsmith_a_correction_is_a_persons_label_whoever_gave_what_it_corrects(langsmith_platform):
    platform = langsmith_platform
    roots = [platform.trace() for _ in range(4)]
    connector = platform.connector()
    await connector.annotate([platform.annotation(root) for root in roots[:2]])
    first, second, third, fourth = (str(root.id) for root in roots)
    ours = {row.run_id: row.id for row in platform.client.list_feedback(run_ids=[first, second])}
    platform.client.update_feedback(ours[roots[0].id], correction={"value": "faithful", "score": 1})
    platform.client.update_feedback(ours[roots[1].id], correction={"answer": "Fees are refunded within 30 days."})
    platform.report(third, key="context_diff", value="partial", correction="unsupported", feedback_source_type="model")
    platform.report(fourth, key="context_diff", value="faithful", correction={"score": 0})
    found = await connector.peoples_labels(platform.project, [first, second, third, fourth], ["context_diff"])
    assert {run: [(one.label, one.score) for one in labels] for run, labels in found.items()} == {
        first: [("faithful", 1.0)],
        third: [("unsupported", None)],
        fourth: [(None, 0.0)],
    }
    await connector.aclose()
