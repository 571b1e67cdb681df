"""`enricher doctor` as the command: everything in one go, and one part that fails hides no other."""

from tests.servers.openai import OpenAIServer, Say


def configure(user, **more) -> None:
    files = {"kind": "files", "paths": ["in/*.jsonl"], "output": "out.jsonl"}
    (user.folder / "in").mkdir(exist_ok=True)
    job = {"connection": "files", "rules": [{"name": "all"}], "schedule": {"every": "1h"}}
    user.configure(**{"connections": {"files": files}, "jobs": {"nightly": job}, **more})


async def test_everything_is_looked_at(user):
    configure(user)
    told = await user.enricher("doctor", "-c", "enricher.yaml", "--json")
    assert told.code == 0, told.out
    names = [check["name"] for check in told.json]
    assert names[:6] == ["config", "secrets", "prompts", "alerts", "extras", "disk"]
    assert names[6] == "connection files"
    assert names[7].startswith("store sqlite:///")
    assert names[8:] == ["schedule", "judges of job nightly", "trust in the judges of job nightly", "job nightly"]
    shown = await user.enricher("doctor", "-c", "enricher.yaml")
    assert shown.code == 0
    assert [line[5:] for line in shown.out.splitlines() if line.startswith("ok ")] == names


async def test_what_fails_is_told_beside_what_does_not(user):
    configure(
        user,
        store="sqlite:///enricher.yaml/store.db",
        connections={
            "files": {"kind": "files", "paths": ["in/*.jsonl"]},
            "ls": {"kind": "langsmith"},
        },
    )
    told = await user.enricher("doctor", "-c", "enricher.yaml", "--json")
    assert told.code == 2
    failed = {check["name"]: check["problems"] for check in told.json if not check["ok"]}
    assert failed["secrets"] == ["set LANGSMITH_API_KEY: connection ls has no key to LangSmith"]
    assert "LANGSMITH_API_KEY" in failed["connection ls"][0]
    assert any(name.startswith("store ") for name in failed)
    assert any(check["name"] == "connection files" and check["ok"] for check in told.json)


async def test_a_config_that_can_not_be_read_is_json_too(user):
    user.configure(engin="local")
    told = await user.enricher("doctor", "-c", "enricher.yaml", "--json")
    assert told.code == 2
    (check,) = told.json
    assert (check["name"], check["ok"]) == ("config", False)
    assert "did you mean 'engine'?" in check["problems"][0]


async def test_a_model_is_asked_only_on_demand(user):
    async with OpenAIServer().script(Say('{"ok": true}')).running() as model:
        configure(user, engine="openai", openai={"base_url": model.url, "model": "judge-2026-01-01"})
        quiet = await user.enricher("doctor", "-c", "enricher.yaml")
        assert (quiet.code, len(model.requests)) == (0, 0), quiet.out
        asked = await user.enricher("doctor", "-c", "enricher.yaml", "--model")
        assert (asked.code, len(model.requests)) == (0, 1), asked.out
        assert "ok   model judge-2026-01-01 at http://127.0.0.1" in asked.out
