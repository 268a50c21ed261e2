# ruff: noqa: RUF001  typographic and full-width signs are the subject here
"""Schemas of our own with values that fit them, chosen for what goes wrong when text is searched for JSON."""

from __future__ import annotations

from typing import Any

from tests.schema.mutation_text import Instance

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
TRUTH: Schema = {"type": "boolean"}


def closed(**properties: Any) -> Schema:
    """An object with exactly these properties."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def some(required: str, **properties: Any) -> Schema:
    """A closed object that may lack all but the named properties."""
    return {**closed(**properties), "required": required.split()}


def opened(**properties: Any) -> Schema:
    """An object with at least these properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def array(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def maybe(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


PERSON = closed(name=TEXT, age=INTEGER)
FILE = closed(path=TEXT, content=TEXT)
NODE: Schema = {
    **some("label", label=TEXT, children=array({"$ref": "#/$defs/node"})),
    "$defs": {"node": some("label", label=TEXT, children=array({"$ref": "#/$defs/node"}))},
}
CONTACT: Schema = {
    "type": "object",
    "properties": {
        "to": {"oneOf": [closed(kind={"const": "mail"}, address=TEXT), closed(kind={"const": "phone"}, number=TEXT)]}
    },
    "required": ["to"],
    "additionalProperties": False,
}
CODE = """def f(d):
\treturn d["a"] or {}  # {not: json}, [1,]
"""
README = """# Title

```json
{"path": "a.md", "content": "draft"}
```

~~~
text
~~~
"""
TALK = 'She said: "It\'s {fine}", then left. /* no comment */ // nor this # nor this'
LONG = "A long sentence, with commas, colons: and [brackets], that goes on and on. " * 20

_WRITTEN: dict[str, tuple[Schema, list[Any]]] = {
    "person": (
        PERSON,
        [{"name": "Mara Lind", "age": 52}, {"name": "", "age": 0}, {"name": 'O\'Neil "Fox"', "age": -7}],
    ),
    "person_open": (opened(name=TEXT, age=INTEGER), [{"name": "Mara", "age": 52, "town": "Gent", "tags": ["a"]}]),
    "person_optional": (
        some("name", name=TEXT, age=INTEGER, email=TEXT),
        [{"name": "Mara"}, {"name": "Mara Lind", "age": 52, "email": "mara@example.org"}],
    ),
    "file": (
        FILE,
        [
            {"path": "src/f.py", "content": CODE},
            {"path": "a.md", "content": README},
            {"path": "C:\\Users\\mara\\new", "content": "x\\n is no newline\\"},
            {"path": "talk.txt", "content": TALK},
            {"path": "x.json", "content": '{"path": "y", "content": "z"}'},
            {"path": "empty", "content": ""},
        ],
    ),
    "patch": (
        closed(file=TEXT, lines=array(TEXT), ok=TRUTH),
        [{"file": "b/α.c", "lines": ["-int f() { return 1; }", "+int f() { return 2; }", "\t}"], "ok": True}],
    ),
    "ticket": (
        closed(id=INTEGER, severity={"enum": ["low", "high"]}, tags=array(TEXT), summary=TEXT),
        [
            {"id": 7, "severity": "high", "tags": ["db", "io"], "summary": "disk full"},
            {"id": 0, "severity": "low", "tags": [], "summary": "it's \"odd\": 5 > 3, isn't it?"},
        ],
    ),
    "price": (
        closed(price=NUMBER, qty=INTEGER),
        [{"price": 19.5, "qty": 3}, {"price": -1.5e-07, "qty": 12345678901234567890}],
    ),
    "measure": (
        closed(values=array(NUMBER), unit=TEXT),
        [{"values": [1, 1.0, -0.5, 1e22, 0, 100], "unit": "m/s²"}, {"values": [42], "unit": "°C"}],
    ),
    "matrix": (closed(rows=array(array(INTEGER))), [{"rows": [[1, 2, 3], [4, 5, 6], []]}, {"rows": [[10, 20]]}]),
    "flags": (
        closed(on=TRUTH, off=TRUTH, left={"type": "null"}, either=maybe(TRUTH)),
        [
            {"on": True, "off": False, "left": None, "either": None},
            {"on": False, "off": True, "left": None, "either": True},
        ],
    ),
    "same_looks": (closed(a={}, b={}, c={}), [{"a": 1, "b": 1.0, "c": True}, {"a": "1", "b": "null", "c": "True"}]),
    "decision": (
        some("approve reason", approve=TRUTH, reason=TEXT, confidence={"type": "number", "maximum": 1}, notes=TEXT),
        [
            {"approve": True, "reason": 'they said "yes", "notes": "later"', "confidence": 0.4},
            {"approve": False, "reason": "The request is over budget, however small.", "confidence": 1, "notes": ""},
        ],
    ),
    "chapters": (
        closed(chapters=array(closed(title=TEXT, pages=INTEGER))),
        [{"chapters": [{"title": "A", "pages": 3}, {"title": "B", "pages": 14}, {"title": "…", "pages": 159}]}],
    ),
    "basket": (
        some("title", title=TEXT, items=array(TEXT)),
        [{"title": "Groceries", "items": ["salad", "carrot", "oil", "salt"]}, {"title": "Nothing", "items": []}],
    ),
    "envelope": (
        closed(content=TEXT, tool_calls=array(closed(name=TEXT, arguments={"type": "object"}))),
        [
            {"content": "", "tool_calls": [{"name": "rm", "arguments": {"path": "/srv/data/old", "force": False}}]},
            {"content": 'Example of a call: {"name": "rm"}', "tool_calls": []},
            {
                "content": "ok",
                "tool_calls": [{"name": "ls", "arguments": {}}, {"name": "ls", "arguments": {"path": "/"}}],
            },
        ],
    ),
    "tree": (
        NODE,
        [
            {
                "label": "root",
                "children": [{"label": "a", "children": [{"label": "b"}]}, {"label": "c", "children": []}],
            },
            {"label": "leaf"},
        ],
    ),
    "contact": (
        CONTACT,
        [{"to": {"kind": "mail", "address": "a@example.org"}}, {"to": {"kind": "phone", "number": "+31 20 123"}}],
    ),
    "shape": (
        {
            "type": "object",
            "oneOf": [closed(kind={"const": "circle"}, r=NUMBER), closed(kind={"const": "box"}, w=NUMBER, h=NUMBER)],
        },
        [{"kind": "circle", "r": 2.5}, {"kind": "box", "w": 3, "h": 4}],
    ),
    "scores": (
        {"type": "object", "additionalProperties": INTEGER, "minProperties": 1},
        [{"anna": 3, "ben": 12, "true": 1, "7": 70}, {"x y": 1, "z-9": 22}],
    ),
    "translations": (
        closed(de=TEXT, fr=TEXT, zh=TEXT, ar=TEXT),
        [{"de": "„Straße“ & Übung", "fr": "« L’été », dit-elle", "zh": "你好，世界：“好”", "ar": "مرحبا، كيف؟"}],
    ),
    "emoji": (
        closed(mood=TEXT, log=array(TEXT)),
        [{"mood": "👩‍🚀🇳🇱", "log": ["a\u2028b", "\u200bzero", "e\u0301", "\ufeff"]}],
    ),
    "quotes": (
        closed(straight=TEXT, curly=TEXT, tick=TEXT, mixed=TEXT),
        [{"straight": '"', "curly": "“so” ‘so’", "tick": "`x` ``` ~~~", "mixed": "'\"’”'"}],
    ),
    "controls": (
        closed(text=TEXT),
        [{"text": "tab\tline\nreturn\rbell\u0007null\u0000esc\u001b[31mred"}, {"text": "\n\n\t\n"}],
    ),
    "markup": (
        closed(html=TEXT, css=TEXT),
        [{"html": "<think>no</think> <b>&quot;</b>", "css": "body { color: red; margin: 0 } /* ... */"}],
    ),
    "thoughts": (
        closed(thought=TEXT, say=TEXT),
        [{"thought": "</think> <think> {", "say": "<|channel|>final<|message|>{}"}],
    ),
    "urls": (
        closed(links=array(TEXT), base=TEXT),
        [{"links": ["https://example.org/a?b=[1]&c={d}#top", "//cdn.example.org/x,y"], "base": "file:///c:/"}],
    ),
    "sql": (
        closed(query=TEXT, args=array({})),
        [{"query": "SELECT '{\"a\": [1,]}' -- ;\nFROM t", "args": [1, None, "x", False]}],
    ),
    "regex": (closed(pattern=TEXT), [{"pattern": '^\\{"[^"\\\\]*"\\}$'}, {"pattern": "\\\\"}]),
    "nested_json": (
        closed(body=TEXT),
        [{"body": '{"a": "{\\"b\\": [1, 2]}"}'}, {"body": '```json\n{"body": "inner"}\n```'}],
    ),
    "essay": (closed(title=TEXT, text=TEXT, words=INTEGER), [{"title": "On ends", "text": LONG, "words": 240}]),
    "dots": (
        closed(start=TEXT, rest=array(TEXT)),
        [{"start": "...", "rest": ["…", "... and so on", "// more items", "etc."]}],
    ),
    "empties": (
        closed(a=array(TEXT), b={"type": "object"}, c=TEXT, d=array(array(TEXT))),
        [{"a": [], "b": {}, "c": "", "d": [[]]}, {"a": [""], "b": {"": {}}, "c": " ", "d": [[], [""]]}],
    ),
    "odd_keys": (
        opened(**{"a b": INTEGER, "": TEXT, "é": TEXT, "$ref-x": TEXT}),
        [{"a b": 1, "": "empty", "é": "acute", "$ref-x": "x", '"q"': "quoted", "{k}": [], "it's": True, "c:\\": None}],
    ),
    "deep": (
        closed(a=closed(b=closed(c=closed(d=closed(e=array(closed(f=INTEGER))))))),
        [{"a": {"b": {"c": {"d": {"e": [{"f": 1}, {"f": 23}]}}}}}],
    ),
    "table": (
        closed(columns=array(TEXT), rows=array(array({"type": ["string", "number", "null"]}))),
        [{"columns": ["name", "size"], "rows": [["a", 1.25], ["b", None], ["c, d", 300]]}],
    ),
    "event": (
        closed(type={"enum": ["add", "drop"]}, at=TEXT, who=maybe(PERSON), data={"type": ["object", "array"]}),
        [
            {"type": "add", "at": "2026-11-30T18:00:00Z", "who": {"name": "Bo", "age": 5}, "data": [1, {"x": []}]},
            {"type": "drop", "at": "18:00", "who": None, "data": {"name": "Eve", "age": 1}},
        ],
    ),
    "settings": (
        {"type": "object", "properties": {"retries": INTEGER, "debug": TRUTH}},
        [{"retries": 3, "debug": False}, {"retries": 10, "proxy": {"host": "h", "port": 80}}],
    ),
    "anything": ({"type": "object"}, [{"a": 1}, {"a": {"b": [True, None, "x"]}, "c": "d"}]),
    "ids": (array(INTEGER), [[4, 8, 15], [16]]),
    "people": (array(PERSON, minItems=1), [[{"name": "A", "age": 1}, {"name": "B", "age": 21}]]),
    "bounded": (
        closed(
            grade={"type": "integer", "minimum": 1, "maximum": 6}, word={"type": "string", "pattern": "^[a-z]{2,8}$"}
        ),
        [{"grade": 2, "word": "solid"}, {"grade": 6, "word": "ok"}],
    ),
    "invoice": (
        some(
            "number lines total",
            number=TEXT,
            date=TEXT,
            lines=array(some("text cents", text=TEXT, cents=INTEGER, tax=NUMBER)),
            total=INTEGER,
            paid=TRUTH,
        ),
        [
            {
                "number": "2026/0042",
                "date": "2026-11-30",
                "lines": [
                    {"text": "Consulting, 2 h", "cents": 18000, "tax": 0.21},
                    {"text": "Travel {train}", "cents": 2350},
                    {"text": 'Book "Ends"', "cents": 1995, "tax": 0.09},
                ],
                "total": 22345,
                "paid": False,
            }
        ],
    ),
}

CORPUS = tuple(
    Instance(f"{name}#{index}", schema, value)
    for name, (schema, values) in _WRITTEN.items()
    for index, value in enumerate(values)
)
