"""Nouns of intake: joining two refs to one trace."""

from enricher.trace import TraceRef, UserReport


def test_joining_keeps_the_rules_and_reports_of_both_and_the_newer_place():
    report = UserReport(name="user_feedback", label="thumbs-down")
    old = TraceRef(connection="c", project="p", trace_id="t", rules=("sampled",), locator={"a": "1", "b": "1"})
    new = TraceRef(connection="c", project="", trace_id="t", rules=("reported",), reports=(report,), locator={"b": "2"})
    joined = old.joined_with(new)
    assert joined.rules == ("sampled", "reported")
    assert joined.reports == (report,)
    assert joined.project == "p"
    assert joined.locator == {"a": "1", "b": "2"}
