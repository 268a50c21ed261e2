"""Secrets come from the environment or from files that it names, and are shown nowhere."""

from __future__ import annotations

import json
import os
import string
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from unittest import mock

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.running import cli
from tests.settings.layers import Place
from vancetope.backends.choose import DIRECT
from vancetope.backends.openai import PROFILES
from vancetope.errors import ConfigError
from vancetope.settings import (
    KEYS,
    Secret,
    Settings,
    Value,
    address,
    addresses,
    key_from_environment,
    load,
    secrets,
    settings_from,
    shown,
)
from vancetope.settings.secrets import ADDRESSES, VARIABLES


def states(found: tuple[Secret, ...]) -> dict[str, str]:
    return {each.variable: each.state for each in found}


def test_every_variable_that_a_profile_reads_is_listed() -> None:
    assert {each.key_variable for each in PROFILES.values() if each.key_variable} <= VARIABLES.keys()
    assert {each.url_variable for each in PROFILES.values() if each.url_variable} <= {*ADDRESSES}
    for url_variable, variables in DIRECT.values():
        assert url_variable in ADDRESSES
        assert {*variables} <= VARIABLES.keys()
    assert {"BRAVE_API_KEY", "TAVILY_API_KEY"} <= VARIABLES.keys()


def test_the_states_of_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(states(secrets()).values()) == {"not set"}
    files = {
        "GEMINI_API_KEY": b"sk-1\n",
        "BRAVE_API_KEY": b" \n",
        "TAVILY_API_KEY": b"\xff",
        "VLLM_API_KEY": b"x" * 70_000,
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        monkeypatch.setenv(f"{name}_FILE", str(tmp_path / name))
    monkeypatch.setenv("OPENROUTER_API_KEY_FILE", str(tmp_path))
    monkeypatch.setenv("OLLAMA_API_KEY_FILE", "a\nb" * 200)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-2")
    monkeypatch.setenv("OPENAI_API_KEY_FILE", "/nowhere")  # the variable itself comes first
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")
    assert states(secrets()) == dict.fromkeys(VARIABLES, "not set") | {
        "GEMINI_API_KEY": "set through FILE",
        "BRAVE_API_KEY": "file empty",
        "TAVILY_API_KEY": "file unreadable",
        "VLLM_API_KEY": "file unreadable",
        "OPENROUTER_API_KEY": "file unreadable",
        "OLLAMA_API_KEY": "file unreadable",
        "OPENAI_API_KEY": "set",
    }
    assert key_from_environment("GEMINI_API_KEY") == "sk-1"
    assert key_from_environment("BRAVE_API_KEY") is None
    with pytest.raises(ConfigError, match="OPENROUTER_API_KEY_FILE names a file that cannot be read") as refused:
        key_from_environment("OPENROUTER_API_KEY")
    assert refused.value.__cause__ is None
    for name in ("TAVILY_API_KEY", "VLLM_API_KEY", "OLLAMA_API_KEY"):
        with pytest.raises(ConfigError, match=f"^{name}_FILE names a file that cannot be read: [^/]+$"):
            key_from_environment(name)


def test_the_variables_of_servers_are_listed_with_their_servers() -> None:
    made = settings_from(
        {
            "servers": {
                "lab": {"kind": "vllm", "keyVariable": "LAB_KEY"},
                "eu": {"kind": "openai", "keyVariable": "OPENAI_API_KEY"},
            }
        }
    )
    about = {each.variable: each.about for each in made.secrets}
    assert about["LAB_KEY"] == "the server lab"
    assert about["OPENAI_API_KEY"] == "OpenAI, the server eu"
    assert len(about) == len(VARIABLES) + 1


@pytest.mark.parametrize(
    ("fields", "advice"),
    [
        *(
            (
                {name: "SECRET"},
                f"{name}: a secret does not belong in a file; set it in the environment, for example OPENAI",
            )
            for name in (
                "apiKey",
                "api_key",
                "API-KEY",
                "key",
                "token",
                "accessToken",
                "password",
                "secret",
                "credentials",
            )
        ),
        (
            {"search": {"apiKey": "SECRET"}},
            "search.apiKey: a secret does not belong in a file; set it in the environment, for",
        ),
        ({"search": {"token": "SECRET"}}, "BRAVE_API_KEY"),
        (
            {"servers": {"lab": {"kind": "vllm", "key": "SECRET"}}},
            "servers.lab.key: a secret does not belong in a file",
        ),
        ({"servers": {"lab": {"kind": "vllm", "apiKey": "SECRET"}}}, "write keyVariable: NAME"),
        ({"servers": {"lab": {"kind": "vllm", "keyVariable": "sk-SECRET"}}}, "never the key itself"),
        ({"servers": {"lab": {"kind": "vllm", "keyVariable": "secretSECRET"}}}, "in capitals"),
        ({"openai": {"apiKey": "SECRET"}}, "openai: unknown key"),
    ],
)
def test_a_secret_in_a_file_is_refused_with_advice_and_not_shown(
    fields: dict[str, object], advice: str, place: Place
) -> None:
    text = yaml.safe_dump(fields).replace("SECRET", "n0t-to-be-seen")
    place.file("project").write_text(text)
    with pytest.raises(ConfigError) as refused:
        place.settings()
    assert advice in str(refused.value)
    assert "n0t" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("http://me:pw@h:8080/v1?key=pw#pw", "http://h:8080/v1"),
        ("https://[::1]:8080/v1", "https://[::1]:8080/v1"),
        ("http://h", "http://h"),
        ("http://pw@h", "http://h"),
        ("http://a@b:pw@h", "an address that is no URL"),
        ("http://me:12/pw@h", "an address that is no URL"),
        ("ftp://me:pw@h", "an address that is no URL"),
        ("http://h:pw", "an address that is no URL"),
        ("http://[::1", "an address that is no URL"),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url: str, seen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert address(url) == seen
    assert shown((url, "wiki.example")) == [seen, "wiki.example"]
    assert repr(Value(url, "project", "file")) == f"Value({seen!r}, 'project', 'file')"
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    assert addresses() == {"OPENAI_BASE_URL": seen}


LETTERS = string.ascii_letters + string.digits
PLANTED = [*VARIABLES, *(f"{each}_FILE" for each in VARIABLES), *ADDRESSES, "LAB_KEY"]


@contextmanager
def environment(said: dict[str, str]) -> Iterator[None]:
    with mock.patch.dict(os.environ, said):
        yield


def planted(folder: Path, secret: Callable[[], str]) -> dict[str, str]:
    """An environment with a secret in everything that may hold one."""
    said = {}
    for name in PLANTED:
        if name in ADDRESSES:
            said[name] = f"http://{secret()}:{secret()}@h.example/v1?key={secret()}"
        elif name.endswith("_FILE"):
            (folder / name).write_text(secret())
            said[name] = str(folder / name)
        else:
            said[name] = secret()
    return said


BROKEN: list[Callable[[str], dict[str, object]]] = [
    lambda secret: {"apiKey": secret},
    lambda secret: {"turnEnd": secret},
    lambda secret: {"maxTokens": secret},
    lambda secret: {"web": {"allow": [f"{secret}@h"]}},
    lambda secret: {"search": {"url": f"ftp://me:{secret}@h"}},
    lambda secret: {"search": {"key": secret}},
    lambda secret: {"budgets": secret},
    lambda secret: {"servers": {"lab": {"kind": secret}}},
    lambda secret: {"servers": {"lab": {"kind": "vllm", "url": f"http://me:{secret}"}}},
    lambda secret: {"servers": {"lab": {"kind": "vllm", "token": secret}}},
    lambda secret: {"servers": {"lab": {"kind": "vllm", "keyVariable": secret}}},
]
WORDS = [
    key.variable
    for key in KEYS.values()
    if key.name not in ("model", "session.defaultRecipe", "files.root", "web.allow")
]


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), how=st.sampled_from(["set", "through a file", "as the name of a file"]))
def test_no_secret_is_in_any_output(place: Place, seed: int, how: str) -> None:
    chance = Random(seed)
    used: list[str] = []

    def secret() -> str:
        used.append("".join(chance.choices(LETTERS, k=chance.randint(12, 40))))
        return used[-1]

    said = planted(place.tenant, secret)
    if how != "set":
        said = {name: value for name, value in said.items() if name not in VARIABLES}
    if how == "as the name of a file":
        said |= {name: secret() for name in said if name.endswith("_FILE")}
    server = {"kind": "vllm", "url": f"http://me:{secret()}@h.example/v1?key={secret()}", "keyVariable": "LAB_KEY"}
    search = {"provider": "searxng", "url": f"https://{secret()}:{secret()}@s.example/?token={secret()}"}
    place.file("project").write_text(yaml.safe_dump({"servers": {"lab": server}}))
    place.file("tenant").write_text(yaml.safe_dump({"search": search}))
    with environment(said):
        held = load(place.project)
        seen = [repr(held), str(held), repr(held.values), repr(held.secrets), repr(held.servers), *held.notices]
        for command in ((), ("--json",), ("search.url",), ("servers.lab.url",), ("servers",), ("search", "--json")):
            ran = cli("settings", *command)
            assert ran.code == 0
            seen += [ran.out, ran.err]
        for broken in chance.sample(BROKEN, 4):
            place.file("project").write_text(yaml.safe_dump(broken(secret())))
            seen += failures(place)
        place.file("project").write_text("")
        with environment({chance.choice(WORDS): secret()}):
            seen += failures(place)
    told = "\n".join(seen)
    assert [each for each in used if each[:8] in told or each[-8:] in told] == []


def failures(place: Place) -> list[str]:
    """What is said about settings that are broken, in every way in which it is said."""
    with pytest.raises(ConfigError) as refused:
        load(place.project)
    plain, for_programs = cli("settings"), cli("settings", "--json")
    assert (plain.code, for_programs.code) == (2, 2)
    assert json.loads(for_programs.out)["message"] == plain.complaint.removeprefix("vancetope: ")
    error = refused.value
    return [str(error), repr(error), repr(error.__context__), plain.out, plain.err, for_programs.out, for_programs.err]


def test_settings_of_ones_own_show_no_address_in_full() -> None:
    made = Settings(values={"search.url": Value("http://me:pw@h", "project")})
    assert "pw" not in f"{made} {made!r}"


def test_a_key_that_can_be_read_once_is_there_as_often_as_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("sk-once-0123456789",))
    writer.start()
    monkeypatch.setenv("ONCE_API_KEY_FILE", str(pipe))
    assert [key_from_environment("ONCE_API_KEY") for _ in range(3)] == ["sk-once-0123456789"] * 3
    writer.join()
