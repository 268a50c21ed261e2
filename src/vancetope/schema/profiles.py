"""What the structured-output option of each provider accepts: limits as data, with the document they come from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The schemas that one provider takes.

    `keywords` is an allow-list: everything else is said in words or left out, so that nothing goes along that the
    provider ignores in silence. A limit of None is one that the provider does not publish.
    """

    name: str
    keywords: frozenset[str]
    formats: frozenset[str]
    enum_types: frozenset[str]  # the types whose values may stand in an `enum`
    ranged_types: frozenset[str] = frozenset({"integer", "number"})  # the types whose bounds the grammar holds
    closed_objects: bool = False  # `additionalProperties: false` is demanded of every object
    all_required: bool = False  # every property must be required; one that may be left out allows null instead
    any_value: bool = True  # a place where every JSON value fits can be expressed
    root_union: bool = True  # the root may be an `anyOf`
    described_references: bool = True  # a `$ref` may have a description beside it, or a union of one around it
    recursion: bool = True
    string_rules: Literal["together", "one"] = "together"  # whether lengths hold beside a pattern or a format
    tuples: Literal["open", "exact", "none"] = "open"  # `prefixItems`: with further items, of one length only, not
    empty_objects: bool = True  # an object without properties may be closed
    names: re.Pattern[str] | None = None  # what every property name must match
    names_beside_extras: re.Pattern[str] | None = None  # the same, in an object that allows further properties
    max_least_items: int | None = None  # the largest `minItems`
    max_repeats: int | None = None  # the largest length or number of items that the grammar can count to
    max_repeats_total: int | None = None  # of all `maxItems` together
    max_depth: int | None = None  # objects and lists inside each other
    max_properties: int | None = None
    max_optional: int | None = None
    max_unions: int | None = None
    max_enum_values: int | None = None
    max_enum_text: tuple[int, int] | None = None  # an enum of more values than the first has at most so many characters
    max_text: int | None = None  # characters of all names, definition names and enum values
    max_grammar: int | None = None  # bytes of llama.cpp's grammar for it, where that is more than four times the schema


_BASE = frozenset(
    ["type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "$ref", "$defs", "description"]
)
_RANGES = frozenset(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"])
_ITEMS = frozenset(["minItems", "maxItems"])
_LENGTHS = frozenset(["minLength", "maxLength"])
_RFC_FORMATS = frozenset(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"])
_SCALARS = frozenset(["string", "number", "integer", "boolean", "null"])

_OPENAI = Profile(
    name="openai",
    keywords=_BASE | _RANGES | _ITEMS | {"pattern", "format", "multipleOf"},
    formats=_RFC_FORMATS,
    enum_types=_SCALARS,
    closed_objects=True,
    all_required=True,
    any_value=False,
    root_union=False,
    tuples="none",
    max_depth=10,
    max_properties=5_000,
    max_enum_values=1_000,
    max_enum_text=(250, 15_000),
    max_text=120_000,
)
_ANTHROPIC = Profile(
    name="anthropic",
    keywords=_BASE | {"pattern", "format", "minItems"},
    formats=_RFC_FORMATS | {"uri"},
    enum_types=_SCALARS,
    closed_objects=True,
    any_value=False,
    described_references=False,
    recursion=False,
    tuples="none",
    names=re.compile(r"[a-zA-Z0-9_.-]{1,64}"),
    max_least_items=1,
    max_optional=24,
    max_unions=16,
)
_GEMINI = Profile(
    name="gemini",
    keywords=_BASE | _ITEMS | {"minimum", "maximum", "format", "prefixItems"},
    formats=frozenset({"date-time", "date", "time"}),
    enum_types=frozenset({"string", "number", "integer"}),
    any_value=False,
    described_references=False,
    recursion=False,
    max_repeats=100,
    max_repeats_total=800,
    max_depth=10,
)
_LLGUIDANCE = Profile(
    name="llguidance",
    keywords=_BASE | _RANGES | _ITEMS | _LENGTHS | {"pattern", "format", "prefixItems"},
    formats=_RFC_FORMATS,
    enum_types=_SCALARS,
)
_GBNF = Profile(
    name="gbnf",
    keywords=_BASE | _RANGES | _ITEMS | _LENGTHS | {"pattern", "format", "prefixItems"},
    formats=frozenset({"date-time", "date", "time", "uuid"}),
    enum_types=_SCALARS,
    ranged_types=frozenset({"integer"}),
    described_references=False,
    string_rules="one",
    tuples="exact",
    empty_objects=False,
    names_beside_extras=re.compile(r"[a-zA-Z0-9_ ]+"),
    max_repeats=1_900,
)
_XGRAMMAR = Profile(
    name="xgrammar",
    keywords=_BASE | _RANGES | _ITEMS | {"pattern", "format", "prefixItems"},
    formats=_RFC_FORMATS,
    enum_types=_SCALARS,
    ranged_types=frozenset({"integer"}),
    described_references=False,
    string_rules="one",
)

PROFILES: Mapping[str, Profile] = {
    each.name: each
    for each in (
        _OPENAI,
        replace(
            _OPENAI,
            name="azure",
            keywords=_BASE,
            formats=frozenset(),
            max_depth=5,
            max_properties=100,
            max_enum_values=500,
        ),
        _ANTHROPIC,
        _GEMINI,
        _LLGUIDANCE,
        _GBNF,
        _XGRAMMAR,
        replace(_GBNF, name="ollama", max_grammar=32_768),
    )
}
"""The profiles by name. Where the facts come from:

- `openai`: OpenAI's guide "Structured model outputs", section "Supported schemas". Formats outside its list are a 400.
- `azure`: Microsoft's page "Structured outputs": the same as OpenAI's, without the keywords of single types. The number
  of enum values is the one in its refusals.
- `anthropic`: Claude's guide "Structured outputs", sections "JSON Schema limitations" and "Schema complexity limits";
  the form of property names is the one that the Messages API demands of tools.
- `gemini`: the reference of `GenerationConfig.responseJsonSchema`. That cyclic references are unrolled "to a limited
  degree" means for us that they do not work. Depth and the sum of `maxItems` are limited but not published: the
  figures are below what its issue tracker reports as refused.
- `llguidance`: the page of its JSON Schema converter (our own model's server; llama.cpp built with it).
- `gbnf`: llama.cpp's own converter: siblings of `anyOf` and `$ref` are passed over, lengths beside a pattern too, only
  integers have bounds, a repetition of 2,000 or more is refused, and keys beside free ones may not need escapes.
- `xgrammar`: vLLM's check of a schema before it gives it to xgrammar. Lengths are left out: they forbid every escape in
  the string (measured with 0.2.9: no backslash, quote or line break), and are lost beside a pattern or format.
- `ollama`: the same converter as `gbnf`; its buffer for the finished grammar holds 32 KB, or four times the schema.
"""
