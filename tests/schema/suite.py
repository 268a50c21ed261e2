"""A sample of what each keyword of JSON Schema 2020-12 accepts and refuses, in values of our own.

`GROUPS` holds at least four values that fit and four that fail for every keyword, the known traps among them. The
official suite has more cases; `test_suite.py` runs it as well where its files are at hand.
"""

from __future__ import annotations

from tests.schema import suite_applicator, suite_core, suite_unevaluated, suite_validation
from tests.schema.suite_group import Group

GROUPS: tuple[Group, ...] = (
    *suite_core.GROUPS,
    *suite_applicator.GROUPS,
    *suite_unevaluated.GROUPS,
    *suite_validation.GROUPS,
)

KEYWORDS = frozenset(
    {
        *("$anchor", "$comment", "$defs", "$dynamicAnchor", "$dynamicRef", "$id", "$ref", "$schema", "$vocabulary"),
        *("additionalProperties", "allOf", "anyOf", "contains", "dependentSchemas", "else", "if", "items", "not"),
        *("oneOf", "patternProperties", "prefixItems", "properties", "propertyNames", "then"),
        *("unevaluatedItems", "unevaluatedProperties"),
        *("const", "dependentRequired", "enum", "exclusiveMaximum", "exclusiveMinimum", "maxContains", "maxItems"),
        *("maxLength", "maxProperties", "maximum", "minContains", "minItems", "minLength", "minProperties"),
        *("minimum", "multipleOf", "pattern", "required", "type", "uniqueItems"),
        *("contentEncoding", "contentMediaType", "contentSchema", "format"),
        *("default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"),
    }
)
"""Every keyword of the 2020-12 vocabularies."""
