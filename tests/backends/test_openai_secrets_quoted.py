"""No secret of a base URL comes back through a server that quotes it: in no reason, event, wire line or history."""

from __future__ import annotations

import base64
import html
import json
from typing import Any
from urllib.parse import quote, quote_plus

import httpx
import pytest

import vancetope as vt
from tests.backends.openai_raw import page, serving
from vancetope.backends.base import Request
from vancetope.backends.choose import choose
from vancetope.backends.faults import Asked, Fault, FaultServer, status
from vancetope.backends.openai import PROFILES, OpenAICompatible, mask
from vancetope.backends.openai.failures import Where, lost
from vancetope.backends.openai.pool import Origin
from vancetope.errors import ConfigError, ModelError
from vancetope.events import Event
from vancetope.journal import RecordingJournal
from vancetope.messages import User
from vancetope.settings import Server, Settings

SECRET = "MARKED-secret-0123456789"
PLACES = {
    "query": ("http://HOST?key=SECRET", SECRET),
    "second in the query": ("http://HOST?api-version=1&key=SECRET", SECRET),
    "user alone": ("http://SECRET@HOST", SECRET),
    "basic, user alone": ("http://SECRET@HOST", base64.b64encode(f"{SECRET}:".encode()).decode()),
    "basic, with password": ("http://me:SECRET@HOST", base64.b64encode(f"me:{SECRET}".encode()).decode()),
}


@pytest.mark.parametrize("place", PLACES)
async def test_a_secret_that_the_server_quotes_is_masked_everywhere(place: str) -> None:
    template, quoted = PLACES[place]

    def quote(asked: Asked) -> Fault:
        return status(400, f"not valid: {quoted}")

    wire: list[tuple[str, Any]] = []
    events: list[Event] = []
    journal = RecordingJournal()
    async with FaultServer(quote, strict=False) as server:
        url = template.replace("SECRET", SECRET).replace("HOST", server.base_url.removeprefix("http://"))
        settings = {"servers": {"lab": {"kind": "vllm", "url": url}}}
        turn = await vt.ask(
            "Hi",
            model="lab:m",
            settings=settings,
            journal=journal,
            on_event=events.append,
            wire=lambda kind, value: wire.append((kind, value)),
        )
    seen = {
        "reason": turn.reason,
        "history": turn.messages.to_json(),
        "events": repr(events),
        "wire": repr(wire),
        "journal": journal.to_json(),
    }
    assert "not valid" in turn.reason
    assert [name for name, text in seen.items() if quoted in text] == []


def test_settings_do_not_show_the_secrets_of_a_servers_url() -> None:
    url = f"http://me:{SECRET}@127.0.0.1:1/v1?key={SECRET}"
    assert SECRET not in repr(Settings(servers={"lab": Server("lab", "vllm", url=url)}))


@pytest.mark.parametrize("url", [SECRET, f"http://h/v1?key={SECRET} x", f"http://h:99999999/v1?key={SECRET}"])
async def test_a_base_url_that_cannot_be_is_refused_without_showing_a_key(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        await vt.ask("Hi", model="lab:m", settings={"servers": {"lab": {"kind": "vllm", "url": url}}})
    assert SECRET not in str(refused.value)


WRITTEN = 'p@ss/w+rd=\u00e9"&key'
QUOTED = {
    "as it is": WRITTEN,
    "in the URL": quote(WRITTEN, safe=""),
    "in the URL, small letters": quote(WRITTEN, safe="").replace("%2F", "%2f").replace("%C3%A9", "%c3%a9"),
    "in a form": quote_plus(WRITTEN),
    "in JSON": json.dumps(WRITTEN)[1:-1],
    "in JSON with slashes escaped": json.dumps(WRITTEN)[1:-1].replace("/", "\\/"),
    "in HTML": html.escape(WRITTEN),
    "in capitals": WRITTEN.upper(),
}


@pytest.mark.parametrize("how", QUOTED)
@pytest.mark.parametrize(
    "place", ["http://me:SECRET@h", "http://SECRET@h", "http://h?a=1&key=SECRET", "http://h?SECRET"]
)
def test_a_secret_is_found_however_it_is_quoted(place: str, how: str) -> None:
    secrets = Origin.at(place.replace("SECRET", quote(WRITTEN, safe=""))).secrets
    assert mask(f"<{QUOTED[how]}>", secrets) == "<***>"


def test_of_two_secrets_the_longer_is_masked_whole() -> None:
    assert mask("abcd abcdefgh", ("abcd", "abcdefgh")) == "*** ***"


def test_words_that_are_no_secret_stay_readable() -> None:
    secrets = Origin.at("http://user:hunter22@h?api-version=2024-02-01").secrets
    assert mask("the user of 2024-02-01 said hunter22", secrets) == "the user of 2024-02-01 said ***"


@pytest.mark.parametrize(
    "url",
    [
        "http://me:12/SECRET@h",
        "http://me:12?SECRET@h",
        "http://me:12#SECRET@h",
        "http://me:SECRET",
        "http://me:SECRET@",
        "http://a@b:SECRET@h",
        "ftp://me:SECRET@h",
        "//me:SECRET@h",
        "me:SECRET@h",
        "http://me:SECRET@[::1",
    ],
)
def test_no_part_of_a_base_url_that_cannot_be_is_shown(url: str) -> None:
    url = url.replace("SECRET", SECRET)
    with pytest.raises(ConfigError, match="the base URL") as refused:
        OpenAICompatible(url, profile=PROFILES["vllm"])
    seen: BaseException | None = refused.value
    while seen is not None:
        assert SECRET not in str(seen)
        seen = seen.__cause__ or seen.__context__
    choice = choose("lab:m", None, Settings(servers={"lab": Server("lab", "vllm", url=url)}))
    assert SECRET not in f"{choice} {choice!r}"


def test_an_origin_shows_no_secret() -> None:
    origin = Origin.at(f"http://me:{SECRET}@h/v1?key={SECRET}")
    assert SECRET not in repr(origin)
    assert base64.b64encode(f"me:{SECRET}".encode()).decode() not in repr(origin)


def test_a_proxys_refusal_does_not_show_what_the_proxy_quotes() -> None:
    error = httpx.ProxyError(f"407 not valid: {SECRET}")
    found = lost(Where(PROFILES["vllm"], "http://h"), error, answered=False, characters=0)
    assert "407 Proxy Authentication Required" in str(found)
    assert SECRET not in str(found)


@pytest.mark.parametrize("proxy", [f"ftp://me:{SECRET}@h", f"http://me:{SECRET}", f"http://{SECRET}@[::1"])
async def test_a_proxy_that_cannot_be_is_refused_without_showing_its_password(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    backend = OpenAICompatible("http://models.example/v1", profile=PROFILES["vllm"])
    with pytest.raises(ConfigError, match="the proxy") as refused:
        await backend.complete(Request("m", "", (User("x"),)))
    assert SECRET not in str(refused.value)


async def test_a_secret_at_the_end_of_what_is_read_of_a_failure_is_not_shown_in_part() -> None:
    shown: list[Any] = []
    async with serving(page("x" * (64 * 1024 - 12) + SECRET * 3, 400)) as server:
        backend = OpenAICompatible(
            server.url, SECRET, profile=PROFILES["vllm"], wire=lambda kind, value: shown.append((kind, value))
        )
        with pytest.raises(ModelError):
            await backend.complete(Request("m", "", (User("x"),)))
        await backend.aclose()
    assert SECRET[:6] not in repr(shown)
