"""`vancetope models`: what can be used here, and why not."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import KEY, cli, serving
from vancetope.backends.direct import extras
from vancetope.backends.local.weights import MAGIC
from vancetope.errors import MissingExtra

CLOSED = "http://127.0.0.1:9/v1"
WAYS = ("openai", "anthropic", "gemini", "azure", "openrouter", "ollama", "lmstudio", "llamacpp", "vllm", "local")


@pytest.fixture(autouse=True)
def closed_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing answers where servers usually listen, whatever runs on this machine."""
    for kind in ("OLLAMA", "LMSTUDIO", "LLAMACPP", "VLLM"):
        monkeypatch.setenv(f"{kind}_BASE_URL", CLOSED)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VANCETOPE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


@pytest.fixture(scope="module")
def weights() -> Iterator[str]:
    """The address of a server that gives every path of it as a small GGUF file."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status = 404 if "missing" in self.path else 401 if "denied" in self.path else 200
            body = MAGIC.ljust(2_000_000, b"\0") if status == 200 else b""
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def ways(ran_out: str) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in json.loads(ran_out)["ways"]}


def test_the_default_is_marked_and_every_way_says_why() -> None:
    ran = cli("models")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("default: local:smollm2-135m (no key and no server found")
    assert "  - openai        no key: set OPENAI_API_KEY\n" in ran.out
    assert "  - ollama        nothing answers at http://127.0.0.1:9; start it with `ollama serve`\n" in ran.out
    assert "→ ✓ local         runs on this machine, free\n" in ran.out


def test_servers_that_answer_show_their_models(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(key=None) as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.base_url)
        shown = cli("models")
        assert "✓ ollama        answers at http://127.0.0.1:" in shown.out
        assert "ollama:scripted-model\n" in shown.out
        unasked = ways(cli("models", "--json", "--no-probe").out)
    assert unasked["ollama"]["models"] == []
    assert "not asked" in str(unasked["ollama"]["state"])


def test_a_server_that_wants_another_key_says_so(weights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_BASE_URL", f"{weights}/denied/v1")
    monkeypatch.setenv("VLLM_API_KEY", KEY)
    ran = cli("models", "--json")
    vllm = ways(ran.out)["vllm"]
    assert vllm["is_usable"] is False
    assert "refuses the key" in str(vllm["state"])
    assert KEY not in ran.out


def test_json_is_one_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    ran = cli("models", "--json", "--no-probe")
    assert KEY not in ran.out
    found = json.loads(ran.out)
    assert found["default"]["model"] == "openai:gpt-5-mini"
    assert found["problem"] is None
    assert [each["name"] for each in found["ways"]] == list(WAYS)
    small = ways(ran.out)["local"]["models"][0]
    assert small["name"] == "local:smollm2-135m"
    assert Path(small["path"]).stat().st_size == small["size"]


def test_a_default_that_cannot_be_is_said_and_the_list_still_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VANCETOPE_MODEL", "nonsense")
    ran = cli("models", "--no-probe")
    assert ran.code == 0
    assert ran.out.startswith("default: none; model 'nonsense': write provider:name")
    assert "local" in ran.out


def test_a_model_is_pulled_from_a_url_and_can_be_named(weights: str, cache: Path) -> None:
    ran = cli("models", "pull", f"{weights}/tiny.gguf")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"{cache / 'tiny.gguf'} (2 MB)\n"
    local = ways(cli("models", "--json", "--no-probe").out)["local"]
    assert "local:tiny" in str(local["models"])


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("nonsense", "nothing to pull under 'nonsense'"),
        ("/no/such/file.gguf", "there is no file /no/such/file.gguf"),
        ("{server}/missing.gguf", "the server answered 404"),
        ("http://127.0.0.1:9/x.gguf", "cannot be fetched"),
        ("http://[bad/x.gguf", "not a URL"),
        ("{server}/tiny.gguf#sha256=00", "is not the expected file"),
    ],
)
def test_what_cannot_be_pulled_is_one_sentence(weights: str, cache: Path, spec: str, sentence: str) -> None:
    ran = cli("models", "pull", spec.format(server=weights))
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.complaint
    assert not cache.exists() or list(cache.iterdir()) == []


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "AZURE_OPENAI", "OPENROUTER"):
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)


def shown_state(name: str) -> str:
    return str(ways(cli("models", "--json", "--no-probe").out)[name]["state"])


@pytest.mark.parametrize(
    ("name", "environment", "is_usable", "state"),
    [
        ("anthropic", {}, False, "no key: set ANTHROPIC_API_KEY"),
        ("anthropic", {"ANTHROPIC_API_KEY": KEY}, True, "ANTHROPIC_API_KEY is set (paid)"),
        (
            "anthropic",
            {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": f"http://u:{KEY}@127.0.0.1:9/x"},
            True,
            "ANTHROPIC_BASE_URL names http://127.0.0.1:9, with a key",
        ),
        ("gemini", {}, False, "no key: set GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("gemini", {"GOOGLE_API_KEY": KEY}, True, "GOOGLE_API_KEY is set (paid)"),
        (
            "gemini",
            {"GEMINI_API_KEY_FILE": "/no/such/file"},
            False,
            "GEMINI_API_KEY_FILE names a file that cannot be read",
        ),
        ("azure", {}, False, "no address: set AZURE_OPENAI_ENDPOINT; no key: set AZURE_OPENAI_API_KEY"),
        ("azure", {"AZURE_OPENAI_API_KEY": KEY}, False, "no address: set AZURE_OPENAI_ENDPOINT"),
        (
            "azure",
            {"AZURE_OPENAI_API_KEY": KEY, "AZURE_OPENAI_ENDPOINT": "https://a.example"},
            True,
            "with a key (paid); name the deployment: azure:MY-DEPLOYMENT",
        ),
        ("openrouter", {}, False, "no key: set OPENROUTER_API_KEY"),
        ("openrouter", {"OPENROUTER_API_KEY": KEY}, True, "OPENROUTER_API_KEY is set (paid)"),
    ],
)
def test_what_a_hosted_provider_lacks_is_said_by_name(
    name: str, environment: dict[str, str], is_usable: bool, state: str, no_keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    ran = cli("models", "--json", "--no-probe")
    way = ways(ran.out)[name]
    assert way["is_usable"] is is_usable
    assert state in str(way["state"])
    assert KEY not in ran.out


def test_a_missing_library_is_said_with_its_command(no_keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "missing_extra", lambda kind: MissingExtra("google", "Gemini"))
    command = "pip install 'vancetope[google]'"
    assert shown_state("gemini").startswith("no key: set GEMINI_API_KEY or GOOGLE_API_KEY; ")
    assert command in shown_state("gemini")
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    assert shown_state("gemini") == f"GEMINI_API_KEY is set, but Gemini needs the extra 'google': {command}"


def test_known_models_stand_with_what_is_known_of_them(no_keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    shown = cli("models", "--no-probe").out
    line = "openai:gpt-5-mini, 400,000 tokens, $0.25 in and $2 out per million, native, thinks, sees images\n"
    assert line in shown
    assert "more\n" in shown
    assert "tokens, free, constrained\n" in shown
    whole = ways(cli("models", "--json", "--no-probe").out)["openai"]["models"]
    first = whole[0]["info"]
    assert whole[0]["name"] == "openai:gpt-5-mini"
    assert first["price"] == {"input": 0.25, "output": 2, "cached": 0.025, "cache_write": None}
    assert (first["context_window"], first["thinking"], first["vision"]) == (400_000, "always", True)
    assert len(whole) > 20


def test_the_aliases_say_what_they_stand_for_here_and_why(no_keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def stands() -> dict[str, dict[str, Any]]:
        return {each["name"]: each for each in json.loads(cli("models", "--json", "--no-probe").out)["aliases"]}

    fast = stands()["default:fast"]
    assert (fast["model"], fast["is_paid"], fast["then"]) == ("local:smollm2-135m", False, [])
    assert [each.partition(" needs")[0] for each in fast["passed"]] == [
        "openai:gpt-5-mini",
        "anthropic:claude-haiku-5-5",
        "gemini:gemini-3.8-flash",
    ]
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    fast = stands()["default:fast"]
    assert (fast["model"], fast["is_paid"]) == ("anthropic:claude-haiku-5-5", True)
    assert fast["then"] == ["gemini:gemini-3.8-flash"]
    assert fast["passed"] == ["openai:gpt-5-mini needs a key: set OPENAI_API_KEY"]
    shown = cli("models", "--no-probe").out
    assert (
        "  ✓ default:fast  is anthropic:claude-haiku-5-5 (paid); if that fails, gemini:gemini-3.8-flash\n"
        "                  openai:gpt-5-mini needs a key: set OPENAI_API_KEY\n"
    ) in shown


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vancetope.yaml").write_text("")
    (tmp_path / ".vancetope").mkdir()
    return tmp_path / ".vancetope/ai-models.yaml"


def test_an_alias_that_cannot_be_is_said_and_the_rest_still_shown(project: Path, no_keys: None) -> None:
    project.write_text("aliases: {one: two, two: one, three: openai:gpt-5, four: scripted:hello}")
    ran = cli("models", "--no-probe")
    assert ran.code == 0
    assert "  - one           the alias one -> two -> one comes back to itself" in ran.out
    assert "  - three         none of the models of three can be used here: openai:gpt-5 needs a key" in ran.out
    assert "  ✓ four          is scripted:hello\n" in ran.out


def test_a_broken_catalogue_is_one_sentence(project: Path) -> None:
    project.write_text("models: [{match: 'openai:*', visin: true}]")
    ran = cli("models", "--no-probe")
    assert (ran.code, ran.out) == (2, "")
    assert ran.complaint == f"vancetope: {project}: models: openai:*: visin: unknown key; did you mean vision?"


def test_a_model_that_the_project_describes_is_shown_with_it(
    project: Path, no_keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = "{match: 'ollama:scripted-model', contextWindow: 32768, thinking: yes, vision: true}"
    project.write_text(f"models: [{entry}]")
    with serving(key=None) as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.base_url)
        shown = cli("models").out
    assert "ollama:scripted-model, 32,768 tokens, free, constrained, can think, sees images\n" in shown


def test_the_default_says_what_is_assumed_of_a_model_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VANCETOPE_MODEL", "ollama:qwen3:4b")
    assert "· the catalogue does not know ollama:qwen3:4b; assumed: " in cli("models", "--no-probe").out
    found = json.loads(cli("models", "--no-probe", "--json").out)
    assert len(found["notices"]) == 1
    assert found["fallbacks"] == []
