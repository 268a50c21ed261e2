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
from vancetope.backends.local.weights import MAGIC

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
