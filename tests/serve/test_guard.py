"""What stands before every page: tokens, sessions, forms, hosts, headers."""

import re

import httpx
import pytest

from enricher.serve.access import TRIES, Guesses
from enricher.serve.app import SESSION_COOKIE
from tests.serve.conftest import READ_TOKEN, TOKEN, csrf_in, served

PAGE = "/queue"


@pytest.fixture
async def guarded(store):
    """Serve with both tokens."""
    async with served(store, token=TOKEN, read_token=READ_TOKEN) as browser:
        yield browser


async def test_nobody_sees_a_page_without_a_session(guarded):
    answer = await guarded.get(PAGE)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=%2Fqueue")
    part = await guarded.get(PAGE, headers={"hx-request": "true"})
    assert part.headers["hx-redirect"] == "/login?next=%2Fqueue"


async def test_the_token_opens_a_session_that_scripts_and_other_sites_do_not_get(guarded):
    answer = await guarded.sign_in()
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{SESSION_COOKIE}=")
    assert {"httponly", "samesite=lax"} <= {part.strip().lower() for part in cookie.split(";")}
    page = (await guarded.get(PAGE)).text
    assert "ada" in page
    assert TOKEN not in page
    assert READ_TOKEN not in page
    guarded.client.cookies.set(SESSION_COOKIE, guarded.client.cookies[SESSION_COOKIE][:-2] + "xx", domain="127.0.0.1")
    guarded.client.cookies.clear()
    forged = cookie.split(";")[0].split("=", 1)[1][:-3] + "abc"
    answer = await guarded.get(PAGE, headers={"cookie": f"{SESSION_COOKIE}={forged}"})
    assert answer.status_code == 303


async def test_wrong_tokens_are_refused_and_soon_not_even_looked_at(guarded):
    for _ in range(TRIES):
        assert (await guarded.sign_in("wrong")).status_code == 401
    answer = await guarded.sign_in(TOKEN)
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= 60


def test_guesses_are_forgotten_after_a_minute_and_counted_together_too():
    now = 0.0
    guesses = Guesses(clock=lambda: now)
    for number in range(50):
        guesses.note_wrong(f"10.0.0.{number}")
    assert guesses.wait_s("10.0.0.99") == 60
    now = 60.0
    assert guesses.wait_s("10.0.0.99") == 0


async def test_a_name_is_asked_for_since_decisions_carry_it(guarded):
    answer = await guarded.sign_in(person="  ")
    assert answer.status_code == 422
    assert "Say who you are" in answer.text


async def test_a_form_without_the_token_of_its_session_changes_nothing(guarded):
    await guarded.sign_in()
    for headers, fields in (({}, {}), ({}, {"csrf": "x"}), ({"x-csrf-token": "x"}, {})):
        answer = await guarded.client.post("/logout", data=fields, headers=headers)
        assert answer.status_code == 403, (headers, fields)
    token = csrf_in((await guarded.get(PAGE)).text)
    foreign = {"x-csrf-token": token, "sec-fetch-site": "cross-site"}
    assert (await guarded.client.post("/logout", headers=foreign)).status_code == 403
    assert (await guarded.get(PAGE)).status_code == 200
    assert (await guarded.client.post("/logout", headers={"x-csrf-token": token})).status_code == 303
    assert (await guarded.get(PAGE)).status_code == 303


async def test_a_form_that_is_too_long_is_not_read(guarded):
    answer = await guarded.client.post("/login", content=b"csrf=" + b"x" * 1_100_000)
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "wanted", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"]
)
async def test_the_login_leads_nowhere_else(guarded, wanted):
    answer = await guarded.post("/login", {"token": TOKEN, "person": "ada", "next": wanted})
    assert answer.headers["location"] == "/"


async def test_the_headers_forbid_what_a_page_does_not_need(guarded):
    for path in ("/login", PAGE, "/nothing", "/static/enricher.css"):
        headers = (await guarded.get(path)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
    assert (await guarded.get(PAGE)).headers["cache-control"] == "no-store"


async def test_no_page_holds_a_script_or_a_style_of_its_own(guarded):
    await guarded.sign_in()
    for path in ("/login", PAGE):
        page = (await guarded.get(path)).text
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)(?![^>]*application/json)", page)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example", 400),
        ("evil.example:80", 400),
        ("", 400),
        ("localhost", 303),
        ("127.0.0.1:1", 303),
        ("[::1]", 303),
    ],
)
async def test_only_our_own_names_are_answered(guarded, host, status):
    answer = await guarded.get(PAGE, headers={"host": host})
    assert answer.status_code == status
    assert (await guarded.get("/health", headers={"host": host})).status_code == 200


async def test_a_name_of_the_config_is_our_own(store):
    async with served(store, hosts=["review.example"]) as browser:
        assert (await browser.get("/login", headers={"host": "review.example"})).status_code == 200


async def test_a_session_ends_when_the_token_changes_and_outlives_a_restart(store):
    async with served(store, token=TOKEN) as browser:
        await browser.sign_in()
        cookies = dict(browser.client.cookies)
    for token, status in ((TOKEN, 200), ("another-token-of-16", 303)):
        async with (
            served(store, token=token) as browser,
            httpx.AsyncClient(base_url=browser.url, cookies=cookies) as again,
        ):
            assert (await again.get(PAGE)).status_code == status


async def test_a_session_of_before_decides_nothing_once_the_server_is_read_only(store):
    async with served(store, token=TOKEN) as browser:
        await browser.sign_in()
        cookies = dict(browser.client.cookies)
    async with served(store, token=TOKEN, read_only=True) as browser:
        browser.client.cookies.update(cookies)
        page = (await browser.get(PAGE)).text
        assert "read only" in page
        token = re.search(r"X-CSRF-Token&#34;: &#34;([^&]+)|X-CSRF-Token\": \"([^\"]+)", page)
        answer = await browser.client.post("/queue/next", headers={"x-csrf-token": token[1] or token[2]})
        assert answer.status_code == 403
        assert "not decide" in answer.text


async def test_a_page_that_does_not_exist_says_so(store):
    async with served(store) as browser:
        answer = await browser.get("/nothing")
        assert answer.status_code == 404
        assert "There is no such page." in answer.text
