"""`vancetope settings`: what holds here, who said it, and which secrets are there."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from textwrap import wrap
from typing import Any

from vancetope.cli.clean import one_line
from vancetope.cli.lines import Line, Tone
from vancetope.cli.page import shown_path, toned
from vancetope.cli.trouble import Refused, print_json, without_secrets
from vancetope.settings import KEYS, PROJECT_FILE, VARIABLES, Secret, Settings, addresses, load

LONGEST = 1000  # characters of a value that are shown
NARROWEST = 16  # columns that a value has at least
STATES: dict[str, tuple[str, Tone]] = {
    "set": ("set", "plain"),
    "set through FILE": ("set through {}_FILE", "plain"),
    "file unreadable": ("the file that {}_FILE names cannot be read", "bad"),
    "file empty": ("the file that {}_FILE names is empty", "bad"),
}


def settings(name: str | None, *, as_json: bool) -> int:
    """Show every setting, or the one of this name, or those of this group; the exit code."""
    held = load()
    if name is None:
        print_json(_everything(held)) if as_json else _print(_listing(held))
    elif (key := VARIABLES[name].name if name in VARIABLES else name) in KEYS or key in held.values:
        print_json(_plain(key, held)) if as_json else _tell(key, held)
    else:
        group = _group(key, held)
        print_json([_plain(each, held) for each in group]) if as_json else _print(_table(_cells(group, held)))
    if not as_json:
        _print((line for each in held.notices for line in _wrapped(f"note: {each}", "note")), sys.stderr)
    return 0


def _print(lines: Iterable[Line], file: Any = None) -> None:
    out = file or sys.stdout
    for line in lines:
        print(toned(without_secrets(line.text), line.tone, out), file=out)


def _tell(key: str, held: Settings) -> None:
    """One value and nothing else on stdout, so that a script can take it."""
    said = held.values.get(key)
    if said is None:
        _print([Line(f"{key} is not set; a settings file or {KEYS[key].variable} says it", "note")], sys.stderr)
    else:
        print(without_secrets(_text(said.shown)))


def _group(name: str, held: Settings) -> Sequence[str]:
    """The keys below this name. Raises `Refused` where there is none, with the key that was probably meant."""
    known = (*KEYS, *(each for each in held.values if each not in KEYS))
    if below := [each for each in known if each.startswith(f"{name.rstrip('.')}.")]:
        return below
    if name.rstrip(".") == "servers":
        return ()
    groups = {each.partition(".")[0] for each in known if "." in each}
    if near := get_close_matches(name, groups, n=1, cutoff=0.8):
        raise Refused(f"there is no setting {one_line(name)!r}; did you mean {near[0]}?")
    last = {each.rpartition(".")[2]: each for each in reversed(known)}
    near = get_close_matches(name, known, n=1, cutoff=0.6) or [
        last[each] for each in get_close_matches(name.rpartition(".")[2], last, n=1, cutoff=0.6)
    ]
    hint = f"did you mean {near[0]}?" if near else "`vancetope settings` lists those there are"
    raise Refused(f"there is no setting {one_line(name)!r}; {hint}")


def _everything(held: Settings) -> dict[str, Any]:
    return {
        "project": None if held.project is None else str(held.project),
        "tenant": str(held.tenant),
        "values": [_plain(key, held) for key in (*KEYS, *(each for each in held.values if each not in KEYS))],
        "secrets": [{"variable": each.variable, "about": each.about, "state": each.state} for each in held.secrets],
        "addresses": dict(addresses()),
        "notices": list(held.notices),
    }


def _plain(key: str, held: Settings) -> dict[str, Any]:
    """One setting for programs; null for value and source where nobody says anything."""
    said, row = held.values.get(key), KEYS.get(key)
    value = None if said is None else said.shown
    return {
        "key": key,
        "value": without_secrets(value) if isinstance(value, str) else value,
        "source": None if said is None else said.source,
        "where": None if said is None else said.where or None,
        "variable": None if row is None else row.variable,
        "about": None if row is None else row.about,
    }


def _listing(held: Settings) -> Iterator[Line]:
    """Everything in a page: where it may be said, what is said, what is not, and the secrets."""
    yield from _table(_folders(held))
    yield Line("")
    yield from _table(_cells(held.values, held))
    yield Line("")
    unsaid = [each for each in KEYS if each not in held.values]
    yield from _rest(
        f"not set (a settings file or {KEYS[unsaid[0]].variable} and its kin say it)" if unsaid else "", unsaid
    )
    named = addresses()
    if named:
        yield Line("")
        yield from _table([(variable, address, "", "plain") for variable, address in named.items()])
    yield Line("")
    there = [each for each in held.secrets if each.state != "not set"]
    yield from _table([_secret(each) for each in there])
    yield from _rest("no secret in", _variables(held.secrets))


def _variables(found: Iterable[Secret]) -> list[str]:
    return [each.variable for each in found if each.state == "not set"]


Cells = tuple[str, str, str, Tone]


def _folders(held: Settings) -> list[Cells]:
    project = "no vancetope.yaml here or above" if held.project is None else shown_path(held.project)
    empty = "" if (held.tenant / PROJECT_FILE).exists() else f" (no {PROJECT_FILE} there)"
    return [
        ("project", one_line(project, LONGEST), "", "dim" if held.project is None else "plain"),
        ("tenant", one_line(shown_path(held.tenant) + empty, LONGEST), "", "dim" if empty else "plain"),
    ]


def _cells(keys: Iterable[str], held: Settings) -> list[Cells]:
    return [_cell(key, held) for key in keys]


def _cell(key: str, held: Settings) -> Cells:
    said = held.values.get(key)
    if said is None:
        return key, "not set", KEYS[key].variable, "dim"
    text = shown_path(Path(said.value)) if key == "files.root" else _text(said.shown)
    return key, one_line(text, LONGEST), said.source, "dim" if said.source == "bundled" else "plain"


def _secret(found: Secret) -> Cells:
    state, tone = STATES[found.state]
    return found.variable, state.format(found.variable), "", tone


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, list) else str(value)


def _rest(title: str, names: Sequence[str]) -> Iterator[Line]:
    if names:
        yield from _wrapped(f"{title}: {', '.join(names)}", "dim")


def _wrapped(text: str, tone: Tone) -> Iterator[Line]:
    for each in wrap(text, _columns(), subsequent_indent="  ", break_on_hyphens=False):
        yield Line(each, tone)


def _columns() -> int:
    return max(40, shutil.get_terminal_size().columns - 1) if sys.stdout.isatty() else 10_000


def _table(rows: Sequence[Cells]) -> Iterator[Line]:
    """Three columns; a value that is too long for its own goes on below."""
    first = max((len(key) for key, *_ in rows), default=0)
    last = max((len(place) for _, _, place, _ in rows), default=0)
    room = max(_columns() - first - last - 4, NARROWEST)
    width = min(room, max((len(value) for _, value, *_ in rows), default=0))
    for key, value, place, tone in rows:
        parts = wrap(value, width, break_on_hyphens=False) or [""]
        yield Line(f"{key:<{first}}  {parts[0]:<{width}}  {place}".rstrip(), tone)
        for part in parts[1:]:
            yield Line(f"{'':<{first}}  {part}", tone)
