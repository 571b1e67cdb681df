"""A wrong config is answered with all its problems at once, each with its line and what to write instead."""

import pytest

from enricher.errors import SetupError
from enricher.settings import load
from tests.acceptance.cases import case


@pytest.fixture
def complaint(tmp_path):
    """Return what is said of a config; its lines begin with the problems."""

    def of(text: str | bytes, environment=None) -> str:
        path = tmp_path / "enricher.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(SetupError) as raised:
            load(path, environment or {})
        return str(raised.value).replace(str(path), "enricher.yaml")

    return of


def test_every_problem_is_told_with_the_line_that_it_stands_in(complaint):
    wrong = case("CU-01")["input"]["config"]
    told = complaint(f"""\
engin: local
connections:
  phoenix: {{kind: phoenix}}
jobs:
  nightly:
    connection: pheonix
    judges:
      - diff
      - {wrong["judge"]}
    policy:
      review_below: {wrong["threshold"]}
    rules:
      - name: some
        rat: 0.5
""")
    assert told.splitlines() == [
        "enricher.yaml has 5 problems:",
        "  line 1: engin: unknown key; did you mean 'engine'?",
        "  line 6: jobs.nightly.connection: there is no connection 'pheonix'; did you mean 'phoenix'?",
        "  line 9: jobs.nightly.judges.1.judge: 'segment_dif' is not known; did you mean 'diff'?; use one of diff, "
        "faithfulness, halves, consistency",
        "  line 11: jobs.nightly.policy.review_below: should be less than or equal to 1, not 85; did you mean 0.85?",
        "  line 14: jobs.nightly.rules.0.rat: unknown key; did you mean 'rate'?",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rate: 0.5", "rate: unknown key; it is a key of jobs.NAME.rules"),
        ("jobs: {n: {model: m}}", "jobs.n.model: unknown key; it is a key of"),
        ("jobs: {n: {rule: []}}", "jobs.n.rule: unknown key; did you mean 'rules'?"),
        ("jobs: {n: {risk: high}}", "jobs.n.risk: unknown key; did you mean 'risk_level'?"),
        ("health: {xyz: 1}", "health.xyz: unknown key; use one of host, port"),
        ("connections: {a: {kind: langsmth}}", "phoenix, not 'langsmth'; did you mean 'langsmith'?"),
        ("connections: {a: {base_url: x}}", "connections.a.kind: use one of files, langsmith, phoenix"),
        ("connections: {a: {kind: files}}", "connections.a.paths: is missing"),
        ("connections: {a: {kind: langsmith, page_sise: 5}}", "a.page_sise: unknown key; did you mean 'page_size'?"),
        ("jobs: {n: {connection: [a]}}", "jobs.n.connection: should be a valid string, not ['a']"),
        ("concurrency: lots", "concurrency: should be a valid integer"),
        ("jobs: {n: {look_back: 3 hours}}", "jobs.n.look_back: '3 hours' is no duration; write for example 30m"),
        ("alerts: {failed: 5}", "alerts.failed: should be less than or equal to 1, not 5; did you mean 0.05?"),
        ("privacy: {secret: x}", "privacy.secret: secrets are not read from the file; set the"),
        ("engine: local\nlogs: json\nengine: local", "line 1: engine: is written twice, in line 1 and in line 3"),
    ],
)  # fmt: skip
def test_a_problem_says_what_to_write_instead(complaint, text, told):
    assert told in complaint(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("engine: local\njobs:\n\tnightly: {}\n", "line 3, column 1: found character '\\t'"),
        ("jobs: {nightly: {judges: [diff}\n", "line 1, column 31: expected ',' or ']', but got '}'"),
        ("engine: local\x00", "is no valid YAML"),
        (b"engine: l\xf6cal", "is no UTF-8 text; save it as UTF-8"),
        ("a: 1\n---\nb: 2\n", "is no valid YAML: line 2"),
        ("[" * 20_000, "is nested too deeply"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_yaml_is_one_sentence_with_the_place(complaint, text, told):
    assert told in complaint(text)
    assert "\n" not in complaint(text)


def test_a_file_with_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "enricher.yaml"
    path.write_bytes(b"\xef\xbb\xbfengine: local\n")
    assert load(path, {}).engine == "local"


def test_a_value_of_the_environment_is_told_by_its_variable(complaint):
    told = complaint("store: sqlite:///a.db\n", {"ENRICHER_CONCURRENCY": "many", "ENRICHER_STORE": "a: b: c"})
    assert "ENRICHER_CONCURRENCY: concurrency: should be a valid integer" in told
    assert "ENRICHER_STORE: store: can't be read as a YAML value; put it in quotes" in told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (" hush-hush\n", "begins or ends with white space"),
        ('"hush-hush"', "holds its quotation marks too"),
        ("hush\nhush", "holds characters that no key has"),
        ("hush…", "holds characters that no key has"),
    ],
)
def test_a_damaged_key_is_named_and_not_shown(complaint, value, told):
    config = "connections:\n  phoenix:\n    kind: phoenix\n    api_key_env: MY_KEY\n"
    said = complaint(config, {"MY_KEY": value})
    assert f"line 4: connections.phoenix.api_key_env: the environment variable MY_KEY {told}" in said
    assert "hush" not in said


def test_all_variables_of_webhooks_that_are_not_set_are_named_together(complaint):
    config = "alerts: {webhooks: [{url_env: A_URL}, {url: 'http://127.0.0.1:1', secret_env: A_SECRET}]}\n"
    told = complaint(config)
    assert "alerts.webhooks.0: set the environment variable A_URL" in told
    assert "alerts.webhooks.1: set the environment variable A_SECRET" in told


def test_a_key_of_a_model_that_is_not_configured_is_nobodys_problem(tmp_path):
    path = tmp_path / "enricher.yaml"
    path.write_text("engine: local\n")
    assert load(path, {"OPENAI_API_KEY": "'x'"}).engine == "local"
