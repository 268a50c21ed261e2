"""One way to get JSON out of text, in a process of its own, and the time each text took it.

`python -m bench.extraction_worker NAME FILE`. Each line of FILE is a case: `text`, `finish`, and `schema`, the number
of a line of FILE.schemas. A line `FIRST END` on stdin is answered by one on stdout: for each of these cases
milliseconds and, in a list, the value that came out, if one did. The line `flood` is answered by the milliseconds that
1 MB of `{` took.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]
Extractor: TypeAlias = Callable[[str, Schema, str], list[Any]]
Reader: TypeAlias = Callable[[str], Any]

FLOOD = "{" * 1_000_000


def vancetope() -> Extractor:
    from vancetope.schema import Extraction, find
    from vancetope.schema.validate import Validator, compile

    compiled: dict[int, Validator] = {}

    def extractor(text: str, schema: Schema, finish: str) -> list[Any]:
        validator = compiled.get(id(schema)) or compiled.setdefault(id(schema), compile(schema))
        found = find(text, validator, finish)
        return [found.value] if isinstance(found, Extraction) else []

    return extractor


def json_repair() -> Extractor:
    from json_repair import loads

    return _checked(loads)


def outer_braces() -> Extractor:
    return _checked(lambda text: json.loads(text[text.find("{") : text.rfind("}") + 1]))


def instructor() -> Extractor:
    """Its JSON mode: this function on the text, then pydantic's parser."""
    from instructor.v2.core.json import extract_json_from_codeblock
    from pydantic_core import from_json

    return _checked(lambda text: from_json(extract_json_from_codeblock(text)))


CONTESTANTS: dict[str, Callable[[], Extractor]] = {
    "vancetope": vancetope,
    "json-repair": json_repair,
    "first to last brace": outer_braces,
    "instructor": instructor,
}


def _checked(read: Reader) -> Extractor:
    """What a caller makes of such a function: no cut replies, no errors, nothing that misses the schema."""
    import jsonschema_rs

    compiled: dict[int, Any] = {}

    def extractor(text: str, schema: Schema, finish: str) -> list[Any]:
        if finish == "length":
            return []
        if id(schema) not in compiled:
            compiled[id(schema)] = jsonschema_rs.validator_for(dict(schema), offline=True, validate_formats=False)
        validator = compiled[id(schema)]
        try:
            value = read(text)
            return [value] if validator.is_valid(value) else []
        except (ValueError, RecursionError):
            return []

    return extractor


def _timed(extractor: Extractor, case: Mapping[str, Any], schemas: list[Schema]) -> tuple[float, list[Any]]:
    start = time.perf_counter()
    found = extractor(case["text"], schemas[case["schema"]], case["finish"])
    return (time.perf_counter() - start) * 1000, found


def main(name: str, file: str) -> None:
    extractor = CONTESTANTS[name]()
    cases = [json.loads(line) for line in Path(file).read_text("utf-8").splitlines()]
    schemas = [json.loads(line) for line in Path(f"{file}.schemas").read_text("utf-8").splitlines()]
    print("ready", flush=True)
    for line in sys.stdin:
        if line == "flood\n":
            print(_timed(extractor, {"text": FLOOD, "schema": 0, "finish": "stop"}, schemas)[0], flush=True)
            continue
        first, end = map(int, line.split())
        chosen = cases[first:end]
        for number in {case["schema"] for case in chosen}:
            extractor("", schemas[number], "stop")  # everybody compiles a schema once, and not on the clock
        print(json.dumps([_timed(extractor, case, schemas) for case in chosen]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
