"""`vancetope query`, in this process: what goes where, exit codes, where a schema can come from, and every way in which
it can be asked wrongly."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import stamina

from tests.cli.running import KEY, Ran, Stream, cli, openai_at, script, serving
from vancetope.backends.faults import KINDS, FaultServer, well
from vancetope.cli.lines import Aside, Line
from vancetope.cli.transcript import Transcript
from vancetope.contract import question as questions
from vancetope.events import CorrectionSent, Event, MessageRetracted, RawDelta, RepairSent, RoundStarted, TurnStarted

COUNTRY = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "capital": {"type": "string"}},
    "required": ["name", "capital"],
    "additionalProperties": False,
}
FRANCE = {"name": "France", "capital": "Paris"}
SAID = json.dumps(FRANCE)
PRETTY = '{\n  "name": "France",\n  "capital": "Paris"\n}\n'
PAID = "because OPENAI_API_KEY is set; its use is paid, --model local: stays on this machine"
CLASSES = """
from enum import Enum
from pydantic import BaseModel

print("noise of a module")

class Country(BaseModel):
    name: str
    capital: str

    class Flag(BaseModel):
        colours: list[str]

class Checked(Country):
    def model_post_init(self, _):
        print("noise of a class")
        if self.name == "France":
            raise ValueError("not that one")

PLAIN = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

def describe(): ...
"""


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    """What a model's name does: a fault, or for any other the first value that fits the schema."""
    with serving(lambda asked: KINDS.get(asked.model) or well(asked)) as running:
        yield running


@pytest.fixture
def openai(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """OpenAI's variables name the fault server; a model's name is the fault it shows. Retries do not wait."""
    for name, value in openai_at(server).items():
        monkeypatch.setenv(name, value)
    with stamina.set_testing(True, attempts=3, cap=True):
        yield


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in, with a schema in `country.json`; what is loaded from it is forgotten afterwards."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "country.json").write_text(json.dumps(COUNTRY))
    monkeypatch.chdir(work)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    yield work
    for name in [each for each in sys.modules if each.startswith("shapes_")]:
        del sys.modules[name]


def query(*arguments: str, schema: str = "country.json", replies: Any = (SAID,), **streams: Any) -> Ran:
    """Ask a model that says this."""
    model = script(Path("model.json"), *replies)
    return cli("query", "--schema", schema, "--model", model, *arguments, **streams)


def wrapper(ran: Ran) -> dict[str, Any]:
    """The one line of `--json`."""
    (value,) = ran.events
    return value


# What goes where.


def test_on_pipes_the_data_is_all_of_stdout(folder: Path) -> None:
    ran = query("Describe France.")
    assert (ran.code, ran.out) == (0, PRETTY)
    choice, numbers = ran.err.splitlines()
    assert choice == "scripted:model.json (as you asked)"
    assert numbers.startswith("1 attempt · 1 call · ~")


def test_json_is_one_wrapper_in_one_line(folder: Path) -> None:
    ran = query("Describe France.", "--json", replies=["Well.", SAID])
    assert ran.code == 0
    assert ran.out.count("\n") == 1
    assert wrapper(ran) == {"success": True, "attempts": 2, "data": FRANCE}
    assert "↻ correction: " in ran.err


def test_corrections_and_how_the_json_was_found_are_on_stderr(folder: Path) -> None:
    ran = query("Describe France.", replies=['{"name": 1}', f"Here it is:\n```json\n{SAID}\n```\nEnjoy."])
    assert (ran.code, ran.out) == (0, PRETTY)
    _, correction, numbers = ran.err.splitlines()
    assert correction.startswith("↻ correction: ")
    assert numbers.startswith("2 attempts · 2 calls · ")
    assert numbers.endswith(" · taken out of a code block")


def test_tools_of_a_recipe_are_a_line_each(folder: Path) -> None:
    (folder / "timed.yaml").write_text("engine: jeltz\npromptPrefix: '{{ schema_json }}'\ntools: {add: [clock]}\n")
    call = {"calls": [{"name": "clock", "arguments": {"timezone": "Europe/Paris"}}]}
    ran = query("Describe France.", "--recipe", "timed.yaml", replies=[call, "I know it.", SAID])
    assert (ran.code, ran.out) == (0, PRETTY), ran.err
    assert "✓ clock(" in ran.err
    assert "1 attempt · 3 calls" in ran.err


def test_quiet_says_nothing_but_the_data_and_errors(folder: Path) -> None:
    assert query("Describe France.", "-q", replies=["Well.", SAID]).err == ""
    refused = query("Describe France.", "-q", replies=[{"text": "no", "finish": "refusal"}])
    assert (refused.code, refused.out) == (5, "")
    assert refused.complaint == "✗ refused: the model declined to answer (the last reply: no)"


def test_what_is_on_stdout_is_json_and_safe_in_a_terminal(folder: Path) -> None:
    said = {"name": "漢\x1b[31m\x9b31m\u2028\x7f", "capital": "a\nb"}
    for arguments in ((), ("--json",)):
        ran = query("Hi", *arguments, replies=[json.dumps(said)])
        assert json.loads(ran.out) in (said, {"success": True, "attempts": 1, "data": said})
        assert not any("\x7f" <= each <= "\x9f" or each in "\x1b\u2028" for each in ran.out)
        assert "漢" in ran.out


def test_nothing_of_a_model_controls_the_terminal(folder: Path) -> None:
    evil = "\x1b[2J\x1b]0;t\x07\x9b31m"
    for is_terminal in (False, True):
        err = Stream(is_terminal=is_terminal)
        ran = query("Hi", replies=[evil, json.dumps({evil: evil}), evil], err=err)
        assert ran.code == 5
        for forbidden in ("\x1b[2J", "\x1b]", "\x07", "\x9b"):
            assert forbidden not in ran.err


def test_in_a_terminal_stdout_has_the_data_alone(folder: Path) -> None:
    ran = query("Hi", replies=["Well.", SAID], out=Stream(is_terminal=True), err=Stream(is_terminal=True))
    assert ran.out == PRETTY
    assert "correction: " in ran.err
    assert "2 attempts" in ran.err


def test_an_attempt_is_seen_while_it_grows_and_never_kept() -> None:
    transcript = Transcript(clock=lambda: 0.0)

    def take(*events: Event) -> list[str]:
        return [part.text for event in events for part in transcript.take(event) if isinstance(part, Line | Aside)]

    assert take(TurnStarted(0, "m"), RoundStarted(0), RawDelta("r", 0, '{"na'), RawDelta("r", 4, "me")) == []
    assert transcript.live() == [Aside('{"name')]
    assert take(MessageRetracted("r")) == []
    assert take(RawDelta("r2", 0, "Well")) == []
    assert take(CorrectionSent("attempt", "No.")) == ["↻ correction: No."]
    assert take(RawDelta("r3", 0, "{"), RepairSent("Again."), RoundStarted(1)) == ["↻ asked once more: Again."]
    assert [part for part in transcript.live() if isinstance(part, Aside)] == []


# How it ends.


@pytest.mark.parametrize(
    ("arguments", "replies", "error", "sentence"),
    [
        ((), ['{"name": 1}'] * 3, "schema_violation", '(the last reply: {"name": 1})'),
        ((), ["Well.", "So.", "Hm."], "max_attempts_exceeded", "(the last reply: Hm.)"),
        (("--max-attempts", "1"), ["Well."], "max_attempts_exceeded", "no reply held one JSON object"),
        ((), [{"text": '{"na', "finish": "length"}] * 3, "output_truncated", "cut off"),
        ((), [{"text": "no", "finish": "refusal"}], "refused", "declined"),
        ((), [{"error": "out of order", "status": 500}], "llm_error", "out of order"),
        (("--budget", "10"), [], "budget_exceeded", "its budget is 10"),
        (("--max-attempts", "11"), [], "invalid_params", "max_attempts: give a whole number from 1 to 10"),
        (("--max-attempts", "0"), [], "invalid_params", "max_attempts"),
        (("--schema", "list.json"), [], "invalid_params", "schema: give a JSON Schema as an object"),
        (("--schema", "wrong.json"), [], "invalid_schema", "nonsense"),
        (("--schema", "text.json"), [], "invalid_schema", "the answer is a JSON object"),
    ],
)
def test_every_failure_is_one_red_line_exit_code_5_and_a_wrapper(
    folder: Path, arguments: tuple[str, ...], replies: list[Any], error: str, sentence: str
) -> None:
    (folder / "list.json").write_text("[1]")
    (folder / "wrong.json").write_text('{"type": "nonsense"}')
    (folder / "text.json").write_text('{"type": "string"}')
    ran = query("Describe France.", "-q", *arguments, replies=replies)
    assert (ran.code, ran.out) == (5, "")
    assert ran.complaint.startswith(f"✗ {error}: ")
    assert sentence in ran.complaint

    as_json = query("Describe France.", "-q", "--json", *arguments, replies=replies)
    assert as_json.code == 5
    told = wrapper(as_json)
    assert (told["success"], told["error"]) == (False, error)
    assert set(told) == {"success", "attempts", "error", "message", "lastInvalid"}
    assert as_json.err == ran.err


def test_a_long_invalid_reply_is_shortened_for_people_and_whole_for_programs(folder: Path) -> None:
    long = {"name": "x" * 5_000}
    arguments = ("Hi", "-q", "--max-attempts", "1")
    assert len(query(*arguments, replies=[json.dumps(long)]).complaint) < 1_000
    assert wrapper(query(*arguments, "--json", replies=[json.dumps(long)]))["lastInvalid"] == long


@pytest.mark.parametrize("kind", ["status_401", "status_500", "html_page", "half_stream", "closed_at_once"])
def test_what_goes_wrong_at_a_server_is_an_llm_error(folder: Path, openai: None, kind: str) -> None:
    ran = cli("query", "-s", "country.json", "Hi", "-q", "--json", "--model", f"openai:{kind}")
    assert ran.code == 5
    assert (wrapper(ran)["error"], wrapper(ran)["attempts"]) == ("llm_error", 0)
    assert ran.complaint.startswith("✗ llm_error: ")


def test_a_deadline_ends_a_silent_server(folder: Path, openai: None) -> None:
    ran = cli("query", "-s", "country.json", "Hi", "--json", "--model", "openai:silence", "--deadline", "0.3")
    assert ran.code == 5
    assert wrapper(ran)["error"] == "llm_error"


def test_requests_that_are_repeated_are_told(folder: Path, openai: None) -> None:
    ran = cli("query", "-s", "country.json", "Hi", "--model", "openai:status_503")
    assert ran.err.count("↻ again in 0.0 s: ") == 2


def test_a_question_that_cannot_be_asked_announces_no_model_and_asks_nothing(
    folder: Path, server: FaultServer, openai: None
) -> None:
    (folder / "wrong.json").write_text('{"type": "nonsense"}')
    asked = len(server.requests)
    ran = cli("query", "-s", "wrong.json", "Hi")
    assert ran.complaint.startswith("✗ invalid_schema: ")
    assert len(server.requests) == asked


def test_a_bug_of_ours_is_a_wrapper_a_sentence_and_a_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(questions, "_read", broken)
    ran = query("Hi", "-q", "--json")
    assert ran.code == 5
    assert wrapper(ran)["error"] == "internal_error"
    assert ran.err.startswith("vancetope: this is a bug in vancetope (ZeroDivisionError); the traceback is in ")
    (report,) = (tmp_path / "state").rglob("*.txt")
    assert "oops" in report.read_text()


def test_a_script_without_replies_is_a_configuration_that_cannot_work(folder: Path) -> None:
    ran = query("Hi", replies=[])
    assert (ran.code, ran.out) == (2, "")
    assert "the scripted model has used all its 0 replies" in ran.err


# The question.


def test_piped_text_is_the_question_or_stands_below_it(folder: Path, server: FaultServer, openai: None) -> None:
    def asked(*arguments: str, stdin: bytes) -> str:
        ran = cli("query", "-s", "country.json", "-q", "--model", "openai:gpt-5-mini", *arguments, stdin=stdin)
        assert ran.code == 0, ran.err
        return str(server.requests[-1].body["messages"][-1]["content"])

    assert asked(stdin=b"from the pipe") == "from the pipe"
    assert asked("-", stdin=b"from the pipe") == "from the pipe"
    assert asked("Sum up:", stdin=b"a\nb\n") == "Sum up:\n\na\nb\n"


def test_a_paid_model_is_announced_as_for_any_question(folder: Path, server: FaultServer, openai: None) -> None:
    ran = cli("query", "-s", "country.json", "Describe France.")
    assert ran.err.splitlines()[0] == f"openai:gpt-5-mini ({PAID})"
    err = Stream(is_terminal=True)
    asked = len(server.requests)
    refused = cli("query", "-s", "country.json", "Hi", stdin=Stream(b"n\nn\n", is_terminal=True), err=err)
    assert "Use it? [Y/n]" in refused.err
    assert len(server.requests) == asked


def test_options_reach_the_model(folder: Path, server: FaultServer, openai: None) -> None:
    said = ("--seed", "7", "--temperature", "0.5", "--instructions", "Speak Danish.", "--enforcement", "prompted")
    cli("query", "-s", "country.json", "Hi", "--model", "openai:gpt-4.1-mini", *said)
    body = server.requests[-1].body
    assert (body["seed"], body["temperature"]) == (7, 0.5)
    assert "Speak Danish." in body["messages"][0]["content"]
    assert "response_format" not in body


def test_formats_are_a_gate_only_on_request(folder: Path) -> None:
    (folder / "day.json").write_text(
        '{"type": "object", "properties": {"day": {"type": "string", "format": "date"}}, "required": ["day"]}'
    )
    replies = ['{"day": "soon"}'] * 3
    assert query("When?", schema="day.json", replies=replies).code == 0
    assert wrapper(query("When?", "--format-checks", "--json", schema="day.json", replies=replies))["success"] is False


# The schema.


def test_a_schema_may_be_yaml_or_have_any_name_and_a_byte_order_mark(folder: Path) -> None:
    (folder / "country.yml").write_text(
        "type: object\nproperties:\n  name: &text {type: string}\n  capital: *text\nrequired: [name, capital]\n"
    )
    (folder / "schema").write_bytes(b"\xef\xbb\xbf" + json.dumps(COUNTRY).encode())
    (folder / "m:Country").write_text(json.dumps(COUNTRY))
    for schema in ("country.yml", "schema", "m:Country", str(folder / "country.json")):
        ran = query("Hi", "-q", schema=schema)
        assert (ran.code, ran.out) == (0, PRETTY), ran.err


def test_a_schema_may_come_from_standard_input_beside_an_argument(folder: Path) -> None:
    ran = query("Describe France.", "-q", schema="-", stdin=json.dumps(COUNTRY).encode())
    assert (ran.code, ran.out) == (0, PRETTY)
    sentence = "vancetope: --schema - takes the schema from standard input; give the question as an argument"
    for arguments in ((), ("-",)):
        assert query(*arguments, schema="-", stdin=b"{}").complaint == sentence


def test_a_schema_may_be_a_class_from_the_current_folder(folder: Path) -> None:
    (folder / "shapes_in_use.py").write_text(CLASSES)
    ran = query("Describe France.", schema="shapes_in_use:Country")
    assert (ran.code, ran.out) == (0, PRETTY)
    assert "noise of a module" in ran.err
    flag = query("Its flag?", "--json", schema="shapes_in_use:Country.Flag", replies=['{"colours": ["red"]}'])
    assert wrapper(flag)["data"] == {"colours": ["red"]}
    plain = query("Its name?", "--json", schema="shapes_in_use:PLAIN", replies=['{"name": "France"}'])
    assert wrapper(plain)["data"] == {"name": "France"}


def test_a_class_judges_and_nothing_that_it_prints_is_on_stdout(folder: Path) -> None:
    (folder / "shapes_that_judge.py").write_text(CLASSES)
    replies = [SAID, '{"name": "Spain", "capital": "Madrid"}']
    ran = query("Hi", "--json", schema="shapes_that_judge:Checked", replies=replies)
    assert wrapper(ran) == {"success": True, "attempts": 2, "data": {"name": "Spain", "capital": "Madrid"}}
    assert "not that one" in ran.err
    assert "noise of a class" in ran.err


def test_a_module_in_a_package_and_one_that_is_installed_are_found(folder: Path) -> None:
    (folder / "shapes_apart").mkdir()
    (folder / "shapes_apart" / "deep.py").write_text(CLASSES)
    assert query("Hi", schema="shapes_apart.deep:Country").code == 0
    ran = query("Hi", "--json", schema="vancetope.settings:Server", replies=['{"name": "a", "kind": "b"}'])
    assert wrapper(ran)["data"] == {"name": "a", "kind": "b"}


# What cannot work.


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ("nope.json", "--schema: nope.json cannot be read: No such file or directory"),
        ("nope.yaml", "--schema: nope.yaml cannot be read: No such file or directory"),
        ("Country", "cannot be read: No such file or directory; a class is named module:Class"),
        ("C:\\schemas\\country.json", "cannot be read: No such file or directory"),
        (".", "--schema: . cannot be read: Is a directory"),
        ("a\0b", "no file has such a name"),
        ("", "cannot be read"),
        ("x" * 300, "cannot be read: File name too long"),
        ("blank.json", "--schema: blank.json: the text is blank"),
        ("prose.json", "--schema: prose.json: the text does not begin as JSON"),
        ("half.json", "--schema: half.json: the JSON stops before its end"),
        ("comma.json", "--schema: comma.json: not JSON at line 2, column 1"),
        ("latin.json", "--schema: latin.json: the text is not UTF-8"),
        ("twice.json", "--schema: twice.json: "),
        ("deep.json", "nests deeper than 128 levels"),
        ("large.json", "is longer than 2,000,000 bytes"),
        ("broken.yaml", "broken.yaml: cannot be read (line 2)"),
        ("dated.yaml", "--schema: dated.yaml: the value at /const is a date, which JSON has not; quote it"),
        ("on.yaml", "--schema: on.yaml: the key True at /properties is no text; quote it"),
        ("bomb.yaml", "--schema: bomb.yaml: it holds more than 100,000 values"),
        ("no_such_module:Country", "--schema: there is no module no_such_module"),
        ("shapes_to_miss.deeper:Country", "--schema: there is no module shapes_to_miss.deeper"),
        ("shapes_to_miss:Countri", "--schema: there is no Countri in shapes_to_miss; did you mean Country?"),
        ("shapes_to_miss:Country.Flak", "there is no Country.Flak in shapes_to_miss; did you mean Flag?"),
        ("shapes_to_miss:describe", "--schema: shapes_to_miss:describe is of type function; name a class"),
        ("shapes_amiss:Country", "the module shapes_amiss cannot be imported: SyntaxError: "),
        ("shapes_in_need:Country", "the module shapes_in_need cannot be imported: ModuleNotFoundError: "),
        ("shapes_that_leave:Country", "the module shapes_that_leave cannot be imported: SystemExit: 3"),
        ("shapes_that_fail:Country", "cannot be imported: KeyError: 'HOME_OF_SHAPES'"),
    ],
)
def test_a_schema_that_cannot_be_had_is_one_sentence_and_exit_code_2(folder: Path, schema: str, sentence: str) -> None:
    kept = {
        "blank.json": b" \n",
        "prose.json": b"type: object\n",
        "half.json": b'{"type": "obj',
        "comma.json": b'{"type": "object",\n}',
        "latin.json": b'{"title": "caf\xe9"}',
        "twice.json": b'{"type": "object", "type": "array"}',
        "deep.json": b'{"not": ' * 200 + b"{}" + b"}" * 200,
        "large.json": b'{"title": "' + b"x" * 2_000_000 + b'"}',
        "broken.yaml": b"type: object\n  bad: [",
        "dated.yaml": b"const: 2020-01-01\n",
        "on.yaml": b"type: object\nproperties:\n  on: {type: string}\n",
        "bomb.yaml": b"\n".join(
            [b"a0: &a0 [" + b"x," * 10 + b"]"]
            + [b"a%d: &a%d [" % (n, n) + b"*a%d," % (n - 1) * 10 + b"]" for n in range(1, 9)]
        ),
        "shapes_to_miss.py": CLASSES.replace('print("noise of a module")', "").encode(),
        "shapes_amiss.py": b"class Country(:\n",
        "shapes_in_need.py": b"import no_such_thing_at_all\n",
        "shapes_that_leave.py": b"raise SystemExit(3)\n",
        "shapes_that_fail.py": b"import os\nos.environ['HOME_OF_SHAPES']\n",
    }
    for name, content in kept.items():
        (folder / name).write_bytes(content)
    ran = query("Describe France.", schema=schema)
    assert (ran.code, ran.out) == (2, "")
    assert ran.complaint.startswith("vancetope: ")
    assert sentence in ran.complaint

    as_json = query("Describe France.", "--json", schema=schema)
    message = ran.complaint.removeprefix("vancetope: ")
    assert as_json.events == [{"type": "error", "code": 2, "message": message}]


@pytest.mark.parametrize(
    ("arguments", "stdin", "sentence"),
    [
        (("",), b"", "the prompt is empty"),
        ((), b"", "the prompt is empty"),
        (("-",), b" \n", "the prompt is empty"),
        (("caf\udce9",), b"", "the prompt is not UTF-8 text: byte 3 cannot be read"),
        ((), b"caf\xe9", "standard input is not UTF-8 text: byte 3 cannot be read"),
        (("Hi",), b"\xff\xfe", "standard input is not UTF-8 text: byte 0 cannot be read"),
        ((), b"a\0b", "standard input is not text: it holds a NUL byte at 1"),
        (("Hi", "--model", "nonsense"), b"", "write provider:name"),
        (("Hi", "--model", "foo:bar"), b"", "there is no provider 'foo'"),
        (("Hi", "--model", "local:none"), b"", "there is no local model 'none'"),
        (("Hi", "--recipe", "nope"), b"", "there is no recipe 'nope'"),
        (("Hi", "--recipe", "ford"), b"", "a question needs jeltz"),
        (
            ("Hi", "--enforcement", "constrained", "--model", "openai:gpt-5-mini"),
            b"",
            "cannot do 'constrained' enforcement",
        ),
        (("Hi", "--max-iterations", "0"), b"", "max_iterations is 0"),
        (("Hi", "--deadline", "0"), b"", "deadline is 0.0"),
        (("Hi", "--local", "--model", "scripted:hello"), b"", "say --local or --model, not both"),
    ],
)
def test_what_cannot_work_is_one_sentence_and_exit_code_2(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], stdin: bytes, sentence: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    given = arguments if {"--model", "--local"} & set(arguments) else (*arguments, "--model", "scripted:hello")
    ran = cli("query", "--schema", "country.json", *given, stdin=stdin)
    assert (ran.code, ran.out) == (2, "")
    assert ran.complaint.startswith("vancetope: ")
    assert sentence in ran.complaint
    (event,) = cli("query", "--schema", "country.json", "--json", *given, stdin=stdin).events
    assert event == {"type": "error", "code": 2, "message": ran.complaint.removeprefix("vancetope: ")}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("Hi",), "Missing option '--schema'"),
        (("--schema",), "requires an argument"),
        (("--schema", "x", "--max-attempts", "many"), "Invalid value for '--max-attempts'"),
        (("--schema", "x", "--turn-end", "natural"), "No such option: --turn-end"),
        (("--schema", "x", "--enforcement", "nope"), "'nope' is not one of"),
        (("--schema", "x", "two", "three"), "unexpected extra argument"),
    ],
)
def test_what_is_typed_wrongly_is_a_usage_error(arguments: tuple[str, ...], sentence: str) -> None:
    ran = cli("query", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert sentence.lower() in ran.err.lower()


def test_a_person_without_a_question_is_shown_how_to_ask(folder: Path) -> None:
    ran = query(stdin=Stream(is_terminal=True))
    assert ran.complaint == 'vancetope: there is no question: vancetope query --schema country.json "Describe France."'


def test_no_key_is_ever_shown(folder: Path, openai: None) -> None:
    for kind in KINDS:
        if kind.startswith(("silence", "huge", "slow")):
            continue
        ran = cli("query", "-s", "country.json", "Hi", "--wire", "--json", "--model", f"openai:{kind}")
        assert ran.code in (0, 5), (kind, ran.err)
        assert wrapper(ran)["success"] is (ran.code == 0), kind
        assert KEY not in ran.out + ran.err, kind
        assert KEY[8:24] not in ran.out + ran.err, kind
        assert "this is a bug" not in ran.err, (kind, ran.err)
