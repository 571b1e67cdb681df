"""Settings: the reference file, overrides, secrets, and problems reported together."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from enricher.errors import SetupError
from enricher.resources import folder
from enricher.settings import Settings, load


def _written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "enricher.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_reference_file_holds_every_key_with_its_default():
    assert load(folder("config") / "default.yaml", {}) == Settings()


def test_the_reference_file_names_every_key_of_the_model():
    import yaml

    written = yaml.safe_load((folder("config") / "default.yaml").read_text())
    shown = Settings().model_dump(mode="json")

    def keys(node: object, where: str = "") -> set[str]:
        if isinstance(node, dict):
            return {f"{where}/{k}" for k in node} | {x for k, v in node.items() for x in keys(v, f"{where}/{k}")}
        if isinstance(node, list):
            return {x for v in node for x in keys(v, f"{where}[]")}
        return set()

    assert keys(shown) == keys(written)


def test_an_empty_file_gives_the_defaults(tmp_path):
    assert load(_written(tmp_path, ""), {}) == Settings()


def test_two_lines_swap_the_engine(tmp_path):
    settings = load(_written(tmp_path, "engine: openai\nopenai: {model: gpt-4o-mini}\n"), {"OPENAI_API_KEY": "k-1"})
    assert settings.engine == "openai"
    assert settings.openai.api_key is not None
    assert settings.openai.api_key.get_secret_value() == "k-1"


def test_the_environment_overrides_the_file(tmp_path):
    path = _written(tmp_path, "store: sqlite:///a.db\n")
    settings = load(path, {"ENRICHER_STORE": "sqlite:///b.db", "ENRICHER_OPENAI__MODEL": "m", "ENRICHER_OTHER": "x"})
    assert settings.store == "sqlite:///b.db"
    assert settings.openai.model == "m"


def test_a_section_left_empty_in_the_file_can_be_filled_from_the_environment(tmp_path):
    settings = load(_written(tmp_path, "engine: openai\nopenai:\n"), {"ENRICHER_OPENAI__MODEL": "m"})
    assert settings.openai.model == "m"


def test_all_problems_are_reported_together_with_suggestions(tmp_path):
    path = _written(
        tmp_path,
        """
engin: local
connections: {phoenix: {kind: phoenix, settle: 3 hours}}
jobs:
  nightly:
    connection: pheonix
    judges: [segment_dif]
    policy: {review_below: 85}
""",
    )
    with pytest.raises(SetupError) as raised:
        load(path, {})
    message = str(raised.value)
    assert "5 problems" in message
    assert "did you mean 'engine'" in message
    assert "did you mean 'phoenix'" in message
    assert "did you mean 'diff'" in message
    assert "jobs.nightly.policy.review_below" in message
    assert "85" in message
    assert "write for example 30m" in message


def test_a_kind_of_span_that_does_not_exist_is_refused_when_the_config_is_read(tmp_path):
    ok = _written(tmp_path, "jobs: {n: {rules: [{name: s, where: {kind: retriever}}]}}\n")
    assert load(ok, {}).jobs["n"].rules[0].where.kind == "RETRIEVER"
    with pytest.raises(SetupError, match=r"jobs\.n\.rules\.0\.where\.kind"):
        load(_written(tmp_path, "jobs: {n: {rules: [{name: s, where: {kind: retreiver}}]}}\n"), {})


def test_a_secret_in_the_file_is_refused_and_not_repeated(tmp_path):
    path = _written(tmp_path, "connections: {phoenix: {kind: phoenix, api_key: hush-hush}}\n")
    with pytest.raises(SetupError) as raised:
        load(path, {})
    assert "connections.phoenix.api_key" in str(raised.value)
    assert "hush-hush" not in str(raised.value)


def test_secrets_do_not_show_when_settings_are_printed():
    settings = load(None, {"PHOENIX_API_KEY": "hush-hush", "OPENAI_API_KEY": "hush-hush"})
    assert "hush-hush" not in repr(settings)
    assert "hush-hush" not in settings.model_dump_json()


def test_the_engine_openai_needs_a_model(tmp_path):
    with pytest.raises(SetupError, match=r"openai\.model: name the model"):
        load(_written(tmp_path, "engine: openai\n"), {})


@pytest.mark.parametrize(("text", "reason"), [("a: [", "no valid YAML"), ("- a", "must hold keys and values")])
def test_a_file_that_is_no_mapping_is_one_sentence(tmp_path, text, reason):
    with pytest.raises(SetupError, match=reason):
        load(_written(tmp_path, text), {})


def test_a_missing_file_is_named():
    with pytest.raises(SetupError, match=r"nowhere\.yaml can't be read: .*; enricher init writes one"):
        load(Path("nowhere.yaml"), {})


def test_a_sampling_rate_of_zero_is_kept(tmp_path):
    settings = load(_written(tmp_path, "jobs: {n: {rules: [{name: s, rate: 0}]}}\n"), {})
    assert settings.jobs["n"].rules[0].rate == 0


def test_durations_are_read(tmp_path):
    settings = load(_written(tmp_path, "jobs: {n: {look_back: 1h30m, first_window: 2d}}\n"), {})
    assert settings.jobs["n"].look_back == timedelta(hours=1, minutes=30)
    assert settings.jobs["n"].first_window == timedelta(days=2)


def test_two_rules_of_one_name_are_refused(tmp_path):
    with pytest.raises(SetupError, match="two rules have the same name"):
        load(_written(tmp_path, "jobs: {n: {rules: [{name: s}, {name: s}]}}\n"), {})


def test_a_wrong_time_zone_and_a_wrong_crontab_line_are_named_together_when_the_config_is_read(tmp_path):
    lines = (Path(__file__).parent / "cases/scheduling.jsonl").read_text(encoding="utf-8").splitlines()
    case = next(found for found in map(json.loads, lines) if found["id"] == "SC-13")
    schedule = {"cron": case["input"]["schedule"], "timezone": case["input"]["timezone"]}
    path = _written(tmp_path, json.dumps({"jobs": {"nightly": {"schedule": schedule}}}))
    with pytest.raises(SetupError) as raised:
        load(path, {})
    for name in case["expected"]["names"]:
        assert name in str(raised.value)
    assert "there is no time zone 'Europe/Berln'; did you mean 'Europe/Berlin'?" in str(raised.value)
    assert "schedule.cron: '61 2 * * *' is no crontab line" in str(raised.value)


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("{cron: '0 2 * * *', every: 1h}", "either cron or every"),
        ("{cron: null}", "give cron or every"),
        ("{every: 0s}", "at least 1s"),
        ("{timezone: ../etc/passwd}", "there is no time zone"),
        ("{timezone: Europe}", "there is no time zone"),
        ("{cron: 0 2 30 2 *}", "never due"),
        ("{crom: 0 2 * * *}", "did you mean 'cron'"),
    ],
)
def test_a_schedule_that_means_nothing_is_refused(tmp_path, schedule, problem):
    with pytest.raises(SetupError, match=problem):
        load(_written(tmp_path, f"jobs: {{nightly: {{schedule: {schedule}}}}}"), {})


def test_a_job_has_a_schedule_when_it_says_so(tmp_path):
    jobs = load(
        _written(tmp_path, "jobs: {often: {schedule: {every: 15m}}, nightly: {schedule: {}}, never: {}}"), {}
    ).jobs
    assert (jobs["often"].schedule.cron, jobs["often"].schedule.every) == (None, timedelta(minutes=15))
    assert (jobs["nightly"].schedule.cron, jobs["nightly"].schedule.grace) == ("0 2 * * *", timedelta(hours=6))
    assert jobs["never"].schedule is None
    assert Settings().jobs["nightly"].schedule is not None
