# ruff: noqa: RUF001  typographic and full-width signs are the subject here
"""The rules of extraction, each with its whole kind: what is found by which rule, and where doubt means no."""

from __future__ import annotations

from typing import Any

import pytest

from vancetope.schema import Extraction, NoJson, extract

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
FILE: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["path"],
    "additionalProperties": False,
}
OPEN: dict[str, Any] = {"type": "object"}
NUMBERS: dict[str, Any] = {"type": "array", "items": {"type": "integer"}}
MARA = '{"name": "Mara", "age": 52}'
EVE = '{"name": "Eve", "age": 1}'
VALUE = {"name": "Mara", "age": 52}


def rule(text: str, schema: dict[str, Any] = PERSON, value: Any = VALUE) -> str | None:
    """By which rule the value is found; none, with nothing else found either."""
    found = extract(text, schema)
    if isinstance(found, NoJson):
        return None
    assert found.value == value
    return found.rule


def reason(text: str, schema: dict[str, Any] = PERSON, finish: str = "stop") -> str:
    found = extract(text, schema, finish)
    assert isinstance(found, NoJson), found
    assert found.sentence
    assert "\n" not in found.sentence
    return found.reason


# 1: transport


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + MARA,
        "\u200b \u2060" + MARA + "\u00a0\u200d",
        "\x1b[32m" + MARA + "\x1b[0m",
        '\x1b[1;38;5;9m{\x1b[0m"name"\x1b[0m: "Mara\x1b[2m", "age": \x1b[36m52\x1b[0m}',
        '\x1b[1m{"name": "M\x1b[33mar\x1b[0ma", "age": 52}',
        "\x1b]0;a title\x07\x1b[?25l" + MARA + "\x1b[?25h",
        "\x1b]8;;http://example.org\x1b\\" + MARA + "\x1b]8;;\x1b\\",
        "⠋ thinking\r⠙ thinking\r\x1b[2K" + MARA + "\r\n",
        "50 %\x1b[1G100 %\x1b[G" + MARA,
        EVE + "\n\x1b[2J\x1b[3J" + MARA,
        '{"name": "Ma\r{"name": "Mara", "ag\r' + MARA,
        MARA.replace(" ", "\r\n"),
        MARA.replace(" ", "\r"),
    ],
)
def test_what_a_terminal_does_to_a_text_is_undone(text: str) -> None:
    assert rule(text) == "strict"


@pytest.mark.parametrize(
    "text",
    [
        EVE + "\x1b[1A" + MARA,
        "\x1b[3;7H" + MARA,
        '{"name": "\x1b[31mMara\x1b[0m", "age": 52}',
        "\x1b" + MARA,
        "\x1b]0;no end " + MARA,
    ],
)
def test_a_code_that_cannot_be_undone_is_doubt(text: str) -> None:
    assert reason(text) == "none"


def test_zero_width_characters_in_a_string_stay() -> None:
    assert (
        rule('\ufeff{"name":\u200b "a\u200bb\ufeff", "age": 1}', value={"name": "a\u200bb\ufeff", "age": 1}) == "tidied"
    )


# 2: reasoning


@pytest.mark.parametrize(
    "text",
    [
        f"<think>{EVE}</think>{MARA}",
        f'<think>{EVE} and {{ and ``` and " and [</think>\n\n{MARA}',
        f"<THINK>\n{EVE}\n</Think>{MARA}",
        f'<thinking mode="deep">{EVE}</thinking>{MARA}',
        f"<think>one</think><reasoning>{EVE}</reasoning>\n{MARA}",
        f"[THINK]{EVE}[/THINK]{MARA}",
        f"◁think▷{EVE}◁/think▷{MARA}",
        f"<|begin_of_thought|>{EVE}<|end_of_thought|>{MARA}",
        f"<|START_THINKING|>{EVE}<|END_THINKING|>{MARA}",
        f"<|channel>thought\n{EVE}<channel|>{MARA}",
        f"<|channel|>analysis<|message|>{EVE}<|end|><|start|>assistant<|channel|>final<|message|>{MARA}<|return|>",
        f"<|channel|>commentary to=functions.x <|message|>{EVE}<|call|><|channel|>final<|message|>{MARA}",
        f"{MARA}<|im_end|>",
        f"{MARA}\n</s>",
        f"{MARA}\n<think>{EVE}",
        f"I would say {EVE}\n</think>\n{MARA}",
        f"{EVE}</think><|im_start|>assistant\n{MARA}",
    ],
)
def test_delimited_reasoning_is_no_part_of_the_text(text: str) -> None:
    assert rule(text) == "strict"


@pytest.mark.parametrize(
    "text",
    [
        f"<think>{MARA}",
        f"Well.\n<think>I take {MARA}\n{MARA}",
        f"<|channel|>analysis<|message|>{MARA}",
        f"<|channel|>analysis {MARA}",
        f"[THINK]{MARA}[/THINK]",
        f"<think></think><think>{MARA}",
    ],
)
def test_an_unclosed_block_of_reasoning_swallows_the_rest(text: str) -> None:
    assert reason(text) == "none"


@pytest.mark.parametrize("before", ["", "Here:\n", "```json\n", "{x}\n"])
def test_a_delimiter_inside_a_string_is_none(before: str) -> None:
    value = {"name": "<think>a</think> <|im_end|> [THINK]", "age": 1}
    assert rule(before + '{"name": "<think>a</think> <|im_end|> [THINK]", "age": 1}', value=value)


def test_an_answer_that_is_no_object_may_stand_behind_reasoning() -> None:
    assert rule("<think>42?</think>\n7", {"type": "integer"}, 7) == "strict"


# 3: the whole text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"name": "Mara", "age": "52"}', "no coercion"),
        (f"[{MARA}]", "no list of one"),
        (f'{{"result": {MARA}}}', "no unwrapping"),
        ('"{\\"name\\": \\"Mara\\", \\"age\\": 52}"', "no second decoding"),
        ('{"name": "Mara", "age": 52, "note": ""}', "no dropping"),
        ("52", "no scalar for an object"),
        ("null", "nothing"),
    ],
)
def test_a_whole_text_that_is_json_is_final(text: str, why: str) -> None:
    found = extract(text, PERSON)
    assert isinstance(found, NoJson)
    assert found.reason == "invalid"
    assert found.problems


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Mara", "age": NaN}',
        '{"name": "Mara", "age": 1e999}',
        '{"name": "Mara", "age": 52, "age": 53}',
        '{"name": "\\ud83d", "age": 52}',
        "{'name': 'Mara', 'age': 52, 'age': 53}",
        '{"name": "Mara", "age": 052}',
    ],
)
def test_what_strict_json_refuses_is_refused_everywhere(text: str) -> None:
    for each in (text, f"```json\n{text}\n```", f"Here:\n{text}"):
        assert reason(each) == "none"


def test_equal_duplicates_are_one() -> None:
    assert rule('{"name": "Mara", "age": 52, "age": 52.0}') == "strict"
    assert rule('{"name": "Mara", "age": 52, "age": 52,}') == "tidied"


@pytest.mark.parametrize("frame", ["{}", "```json\n{}\n```", "Here:\n{}", "{},"])
def test_integers_stay_exact(frame: str) -> None:
    number = 123456789012345678901234567890
    text = frame.replace("{}", f'{{"name": "", "age": {number}}}').replace("},", ",}")
    found = extract(text, PERSON)
    assert isinstance(found, Extraction)
    assert found.value["age"] == number


@pytest.mark.parametrize("frame", ["{}", "Here:\n{}", "```json\n{}\n```"])
@pytest.mark.parametrize("opening", ['{"a":', "{'a':", "{a:", "["])
def test_more_than_128_levels_are_too_deep(frame: str, opening: str) -> None:
    closing = "]" if opening == "[" else "}"
    assert reason(frame.replace("{}", opening * 129 + "1" + closing * 129), {}) == "too_deep"


def test_more_than_two_megabytes_or_too_many_digits_are_too_large() -> None:
    assert reason(" " * 2_000_001) == "too_large"
    assert reason("é" * 1_000_001) == "too_large"
    assert reason('Here:\n{"name": "", "age": ' + "9" * 6_000 + "}") == "too_large"
    assert reason("{name: '', age: " + "9" * 6_000 + "}") == "too_large"


# 4: fences and spans


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{MARA}\n```",
        f"```\n{MARA}\n```",
        f"```JSON\n{MARA}\n```",
        f"```jsonc\n{MARA}\n```",
        f"``` json5 \n{MARA}\n```",
        f'```json title="mara.json"\n{MARA}\n```',
        f"`````json\n{MARA}\n`````",
        f"```json\n{MARA}\n`````",
        f"~~~json\n{MARA}\n~~~",
        f"  ```json\n  {MARA}\n  ```",
        f"1. This:\n\n   ```json\n   {MARA}\n   ```\n2. Done.",
        f"```json\r\n{MARA}\r\n```\r\n",
        f"```json\n\n\n{MARA}\n\n\n```",
        f"```json {MARA} ```",
        f"```{MARA}```",
        f"```json\n{MARA}```",
        f"```json {MARA}\n```",
        f"Here it is: ```json {MARA} ```",
        f"Here it is: ```json\n{MARA}\n```\nBye.",
        f"```bash\njq . x.json\n```\n\n```json\n{MARA}\n```",
        f"```python\nx = {EVE}\n```\n```json\n{MARA}\n```",
        f"~~~\n```\n~~~\n```json\n{MARA}\n```",
        f"I saw {MARA} there.\n```json\n{MARA}\n```",
        f"```json\n{MARA}\n```\n```\n",
    ],
)
def test_a_fence_tagged_json_or_untagged_gives_its_value(text: str) -> None:
    assert rule(text) == "fence"


@pytest.mark.parametrize("tag", ["python", "bash", "text", "yaml", "js", "markdown", "jsonl", "diff", "json-schema"])
def test_a_fence_with_another_tag_gives_nothing(tag: str) -> None:
    assert reason(f"Look:\n```{tag}\n{MARA}\n```") == "none"
    assert reason(f"```{tag}\n{MARA}") == "none"
    assert reason(f"```{tag} {MARA}```\n") == "none"
    assert rule(f"```{tag}\n{EVE}\n```\n{MARA}") == "span"


def test_a_fence_inside_a_longer_one_is_content() -> None:
    assert reason(f"````markdown\n```json\n{MARA}\n```\n````") == "none"


@pytest.mark.parametrize("content", ["```py\\nprint(1)\\n```", "```", "~~~\\n```json\\n{}\\n```", "a ``` b"])
def test_a_fence_inside_a_string_is_no_fence(content: str) -> None:
    text = f'{{"path": "{content}"}}'
    value = {"path": content.replace("\\n", "\n")}
    assert rule(f"```json\n{text}\n```", FILE, value) == "fence"
    assert rule(f"Here:\n{text}", FILE, value) == "span"
    raw = text.replace("\\n", "\n")
    if raw != text:
        assert rule(f"```json\n{raw}\n```", FILE, value) == "tidied"
        assert rule(f"Here:\n{raw}", FILE, value) == "tidied"


@pytest.mark.parametrize(
    "text",
    [
        f"Here is the JSON you asked for:\n{MARA}",
        f"{MARA}\n\nLet me know!",
        f"以下是提取结果：\n{MARA}\n希望对你有帮助。",
        f"json\n{MARA}",
        f"```json\n{MARA}",
        f"```json\nHere:\n{MARA}\n```",
        f"```json\n{MARA}\n{MARA}\n```",
        f"{MARA}\n{MARA}",
        f"{MARA} {MARA}",
        f"{MARA}}}",
        f"I filled {{name}}, {{age}} and {{...}}:\n{MARA}",
        f"Use {{name: string}} or {{x : x > 0}}.\n{MARA}",
        f"[2026-11-30 10:02:11] INFO tokens=[18, 24]\n{MARA}",
        f"- [x] done\n- [ ] to do\nSee [1] and [a link](http://example.org).\n{MARA}",
        f'Input was {{"text": "Mara"}}.\n{MARA}',
        f'Schema: {{"type": "object"}}\nInstance: {MARA}',
        f'```json\n{{"text": 1}}\n```\n{MARA}',
    ],
)
def test_a_value_on_lines_of_its_own_is_a_span(text: str) -> None:
    assert rule(text) == "span"


def test_a_list_is_found_where_the_schema_wants_one() -> None:
    assert rule("The ids are: [4, 8, 15]", NUMBERS, [4, 8, 15]) == "span"
    assert rule("```json\n[4, 8, 15]\n```", NUMBERS, [4, 8, 15]) == "fence"
    assert rule("The ids are: [4, 8, 15,]", NUMBERS, [4, 8, 15]) == "tidied"


# 5: what blocks, and what is quoted


@pytest.mark.parametrize(
    "text",
    [
        f'{{"wrapper": {MARA}',
        f"[{MARA}, ",
        f'{{"name": "Mara", "ag{MARA}',
        f"{{\n{MARA}",
        f'{MARA}\n{{"name": "Ma',
        f"Open it with {{ first.\n{MARA}",
        f"{MARA}\nThen comes a [ and no end.",
        f'```json\n{{"all": [{MARA}\n```',
        f'Fill {{"name": <name>, "age": 1}}:\n{MARA}',
        f"{{'text': 'it's', 'who': {MARA}}}",
        f"{{a: 'x }} y', who: {MARA}, b: ???}}",
        f'{{"a": [1, 2}}, {MARA}',
    ],
)
def test_what_opens_and_cannot_be_read_to_its_end_blocks_the_text(text: str) -> None:
    assert reason(text) in ("none", "truncated")


@pytest.mark.parametrize(
    "text",
    [
        f"The document quotes {MARA} as sample data.",
        f"To list them I would send {MARA} but I have no access.",
        f"It is {MARA}.",
        f"{MARA} is what the document says.",
        f"I would send: {MARA} if I had to.",
        f"As in e.g. {MARA}",
        f'The text is "{MARA}"',
        f"> {MARA}",
        f"| {MARA} |",
        f"// {MARA}",
        f"<!-- {MARA} -->",
        f"~~{MARA}~~",
        f"~~~{MARA}~~~",
        f"<del>{MARA}</del>",
        f"Look: ```json {MARA} ``` as in the text.",
        f'"owner": {MARA}}}',
        f"'owner' : {MARA},",
        f"{MARA}]",
        "{}}",
        f"{MARA}\n  ]\n}}",
        f"{MARA}, // ... and more",
        f"the call f({MARA})",
        f"x = [0] {MARA}",
        f'I sent {{"x": 1}} {MARA}',
        # closed too early, with the rest of it behind
        f'{MARA},\n"id": "z"}}',
        f'{MARA}, "id": "z"}}',
        f"{MARA},\nid: 'z'}}",
        f'{MARA}\n"id": "z"',
        f"{MARA}, 'id' : 1}}",
        f"{MARA}，“id”：1｝",
        f'```json\n{MARA},\n"id": "z"}}\n```',
        f'```json\n{MARA}\n,\n"id": "z"}}\n```',
        f'{MARA}}},\n"id": "z"}}',
        f'{MARA}}}\n"id": "z"}}',
        f"{MARA}, [1]",
        f'{MARA}, "x"',
        f"{MARA},\n7\n]",
        f"{MARA}, null]",
        f'"owner":\n{MARA}}}',
        f'"a": 1,\n{MARA}}}',
        f"{MARA} ...",
        f"{MARA}, …",
        f"{MARA}\n...\n",
        f"{MARA} // ...",
    ],
)
def test_an_object_that_continues_a_sentence_or_a_larger_value_is_quoted_matter(text: str) -> None:
    assert reason(text) == "none"


@pytest.mark.parametrize(
    "text",
    [
        f"**Antwoord:** {MARA} ✅",
        f"**Answer**: {MARA}",
        f"Answer: `{MARA}`",
        f"答案：{MARA}",
        f"assistant> {MARA}\nuser> ",
        f"result => {MARA}",
        f"<pre><code>{MARA}</code></pre>",
        f"<answer>{MARA}</answer>",
        f"- {MARA}",
        f"Sure! {MARA}",
        f"{MARA} // the answer",
        f"({MARA})",
        f'Input: {{"x": 1}} Output: {MARA}',
    ],
)
def test_a_label_or_signs_beside_an_object_leave_it_to_stand_for_itself(text: str) -> None:
    assert rule(text) == "span"


@pytest.mark.parametrize(
    ("behind", "stands"),
    [
        ("Correction: the age is 53.", False),
        ("Correctie: leeftijd 53", False),
        ("更正：年龄应为 ５３。", False),
        ("[Correction: the age is 53]", False),
        ("The age, 52, was counted from the birth year.", True),
        ("tokens used: 1,204 (cached: 80%)", True),
        ("It cost $0.0031.", True),
        ("1. name: from line one\n2) age: counted", True),
        ("Made by gpt-4o, v2 of GPT-4.", True),
        ("{in: 812, out: 24}", True),
    ],
)
def test_another_number_behind_a_bare_object_may_take_it_back(behind: str, stands: bool) -> None:
    assert (rule(f"{MARA}\n{behind}") == "span") == stands
    assert rule(f"```json\n{MARA}\n```\n{behind}") == "fence"
    assert rule(f"{behind}\n{MARA}") == "span"


# 6: one value


@pytest.mark.parametrize(
    "text",
    [
        f"{MARA}\n{EVE}",
        f"{MARA} {EVE}",
        f"```json\n{MARA}\n```\n```json\n{EVE}\n```",
        f"```json\n{MARA}\n{EVE}\n```",
        f"For example: {EVE}\n\n```json\n{MARA}\n```",
        f"My first guess was {EVE}, but the record says otherwise. Final: {MARA}",
        f"{MARA}\n{{name: 'Eve', age: 1}}",
        f"{{name: 'Eve', age: 1}}\n```\n{MARA}\n```",
        f"~~{EVE}~~ {MARA}",
        f"{MARA}, {EVE}",
    ],
)
def test_several_different_values_that_fit_are_ambiguous(text: str) -> None:
    assert reason(text) == "ambiguous"


def test_equal_values_are_one_and_the_strongest_rule_is_told() -> None:
    assert rule(f"{{name: 'Mara', age: 52}}\n{MARA}") == "span"
    assert rule(f"{{name: 'Mara', age: 52}}\n```\n{MARA}\n```") == "fence"
    assert rule(f'{MARA}\n{{"age": 52.0, "name": "Mara"}}') == "span"


# 8: a last brace


@pytest.mark.parametrize(
    ("text", "closes"),
    [
        ('{"age": 52, "name": "Mara"', True),
        ('{"age": 52, "name": "Mara"\n\n', True),
        ('Here:\n{"age": 52, "name": "Mara"', True),
        ('```json\n{"age": 52, "name": "Mara"\n```', True),
        ('{"name": "Mara", "age": 52', False),
        ('{"age": 52, "name": "Mara",', False),
        ('{"age": 52, "name": "Mar', False),
        ('{"age": 52, "name"', False),
        ('{"age": 52, "name":', False),
        ('{"age": 52', False),
        ('{"name": "Mara"', False),
        ("{'age': 52, 'name': 'Mara'", False),
        ('{"age": 52, "name": "Mara"' + "\n" * 200, False),
        ('{"age": 52, "name": "Mara"]', False),
        ('{"age": 52, "name": "Mara"\nBye', False),
    ],
)
def test_a_last_brace_may_be_missing_where_nothing_else_can_be(text: str, closes: bool) -> None:
    assert rule(text) == ("closed" if closes else None)


@pytest.mark.parametrize(
    ("text", "closes"),
    [
        ('{"path": "a", "tags": ["x"]', True),
        ('{"tags": [], "path": "a"', True),
        ('{"path": "a", "tags": ["x"', False),
        ('{"path": "a"', False),
    ],
)
def test_no_list_may_be_open_and_no_optional_property_missing(text: str, closes: bool) -> None:
    assert (isinstance(extract(text, FILE), Extraction)) == closes


def test_extras_must_be_forbidden_and_the_stop_a_plain_one() -> None:
    text = '{"age": 52, "name": "Mara"'
    nested = {"$ref": "#/$defs/p", "$defs": {"p": PERSON}}
    assert rule(text, nested) == "closed"
    assert reason(text, {**PERSON, "additionalProperties": True}) == "truncated"
    assert reason(text, {**PERSON, "patternProperties": {"^x": {}}}) == "truncated"
    for finish in ("length", "unknown", "tool_calls"):
        assert reason(text, PERSON, finish) == "truncated"


def test_two_missing_braces_are_too_many() -> None:
    outer = {"type": "object", "properties": {"p": PERSON}, "required": ["p"], "additionalProperties": False}
    assert rule('{"p": {"age": 52, "name": "Mara"}', outer, {"p": VALUE}) == "closed"
    assert reason('{"p": {"age": 52, "name": "Mara"', outer) == "truncated"


# 9: permissive schemas


@pytest.mark.parametrize(
    "schema",
    [
        {},
        OPEN,
        {"type": "object", "properties": {"a": {"type": "integer"}}},
        {"type": "object", "required": []},
        {"$ref": "#/$defs/any", "$defs": {"any": OPEN}},
        {"anyOf": [PERSON, OPEN]},
    ],
)
def test_a_permissive_schema_takes_the_whole_text_or_a_fence(schema: dict[str, Any]) -> None:
    assert rule('{"a": 1}', schema, {"a": 1}) == "strict"
    assert rule('<think>x</think>{"a": 1}<|im_end|>', schema, {"a": 1}) == "strict"
    assert rule('Here:\n```json\n{"a": 1}\n```', schema, {"a": 1}) == "fence"
    for text in ('Here:\n{"a": 1}', "{'a': 1}", '```json\n{"a": 1}', '{"a": 1}\nBye', '```\n{"a": 1,}\n```', "{}."):
        assert reason(text, schema) == "none"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": ["a"]},
        {"required": ["a"]},
        {"properties": {"a": {}}, "required": ["a"], "additionalProperties": False},
        {"type": ["object", "array"], "required": ["a"]},
        {"anyOf": [{"type": "object", "required": ["a"]}, {"type": "array"}]},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": False},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object", "patternProperties": {"^[a-z]$": {}}, "additionalProperties": False},
    ],
)
def test_a_schema_that_requires_or_restricts_is_not_permissive(schema: dict[str, Any]) -> None:
    assert rule('Here:\n{"a": 1}', schema, {"a": 1}) == "span"


def test_a_schema_that_takes_nearly_any_list_is_permissive_for_lists() -> None:
    lists = {"type": ["object", "array"], "required": ["a"]}
    assert rule("[1]", lists, [1]) == "strict"
    assert rule("Here:\n```\n[1]\n```", lists, [1]) == "fence"
    assert reason("Here:\n[1]", lists) == "none"


def test_a_list_amid_text_is_no_answer_to_a_schema_without_types() -> None:
    schema = {"required": ["a"]}
    assert rule('Given [1] and [2]:\n{"a": 1}', schema, {"a": 1}) == "span"
    assert reason("Given [1]", schema) == "none"
    assert reason("[2]\nis what I found.", schema) == "none"
    assert rule("[2]", schema, [2]) == "strict"


# comments


TICKET: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["id"],
}
BASKET = {"id": 7, "tags": ["db", "io"]}


@pytest.mark.parametrize("closed", [{}, {"additionalProperties": False}])
@pytest.mark.parametrize(
    "text",
    [
        '{"id": 7, // ticket no\n "tags": ["db", "io"]}',
        '{\n# urgent\n"id": 7, "tags": ["db", "io"]}',
        '{ // urgent\n"id": 7, "tags": ["db", "io"]}',
        '{"tags": ["db", "io"], "id": 7 // enzovoort\n}',
        '{"tags": ["db", "io"], "id": 7,\n// enzovoort\n}',
        '{"tags": ["db", "io"],\n/* no */ "id": 7}',
        '```json\n{"id": 7, // ticket no\n "tags": ["db", "io"]}\n```',
        '{"id": 7, "tags": ["db", "io"]} // the ticket',
    ],
)
def test_a_comment_in_an_object_with_all_that_the_schema_describes_says_nothing_wrong(text: str, closed: Any) -> None:
    assert rule(text, {**TICKET, **closed}, BASKET) in ("tidied", "span")


@pytest.mark.parametrize(
    "word", ["and so on", "enzovoort", "gekürzt", "[snip]", "и так далее", "其余省略", "ticket no", "x"]
)
@pytest.mark.parametrize(
    "text",
    [
        '{"id": 7 // %s\n}',
        '{"id": 7, # %s\n}',
        '{\n# %s\n"id": 7}',
        '{"id": 7} // %s',
        '{"id": 7}\n// %s',
        '```json\n{"id": 7}\n\n/* %s */\n```',
        '{"id": 7, "tags": ["db", "io" // %s\n]}',
        '{"id": 7, "tags": ["db", /* %s */ "io"]}',
        '{"id": 7, "tags": [/* %s */]}',
        '{"id": 7, "tags": ["db"] // %s\n}',
        '{"tags": ["db"], // %s\n"id": 7}',
        '{"id": 7,\n// %s\n"tags": ["db"]}',
        '{"id": 7, "tags": /* %s */ ["db"]}',
        '```json\n{"id": 7, "tags": ["db"] // %s\n}\n```',
        'Here:\n{"id": 7 // %s\n}\nBye.',
    ],
)
def test_a_comment_may_stand_for_what_was_left_out_whatever_its_words(text: str, word: str) -> None:
    found = extract(text.replace("%s", word), TICKET)
    assert found == NoJson("none", "a comment in the JSON may stand for content that was left out")


@pytest.mark.parametrize(
    "text",
    [
        "[4 /* ISO 8601 */,\n 8,\n 15]",
        "[\n  16 // default\n]",
        "[\n 4 # as in {name}\n , # Betrag\n 8 ]",
        "[4, 8] // x",
    ],
)
def test_in_a_list_only_a_fixed_length_settles_that_nothing_is_missing(text: str) -> None:
    found = extract(text, NUMBERS)
    assert found == NoJson("none", "a comment in the JSON may stand for content that was left out")
    lengths = {1: [16], 2: [4, 8], 3: [4, 8, 15]}
    for length, value in lengths.items():
        found = extract(text, {**NUMBERS, "minItems": length, "maxItems": length})
        assert isinstance(found, NoJson) or found.value == value
    assert any(isinstance(extract(text, {**NUMBERS, "minItems": n, "maxItems": n}), Extraction) for n in lengths)


def test_a_doubtful_comment_does_not_matter_beside_the_same_value_without_one() -> None:
    doubtful, clear = '{"id": 7 // x\n}', '{"id": 7}'
    assert rule(f"{doubtful}\n\nOnce more:\n{clear}", TICKET, {"id": 7}) == "span"
    assert reason(f'{doubtful}\n\n{{"id": 8}}', TICKET) == "ambiguous"
    misfit = extract('{"tags": ["x" // y\n]}', TICKET)
    assert isinstance(misfit, NoJson)
    assert misfit.reason == "invalid"


# one brace too many


@pytest.mark.parametrize(
    ("text", "slip"),
    [
        ('{"a": 1}}', True),
        ('{"a": 1}}\n\nBye.', True),
        ('```json\n{"a": 1}}\n```', True),
        ('{"a": 1, "b": {"c": 2}}}', True),
        ('{"a": 1, "b": [{"c": 2}, {"d": 3}]}}', True),
        ('{"b": {"c": 2}, "a": 1}}', False),
        ('{"a": 1, "b": [{"c": {"d": 1}, "e": 2}]}}', False),
        ('{"a": 1, "b": {"c": {}, "d": 1}}}', False),
        ('{"a": 1}}}', False),
        ('{"a": 1}]', False),
        ('{"a": 1}},', False),
    ],
)
def test_one_brace_too_many_is_a_slip_where_no_other_can_have_come_too_early(text: str, slip: bool) -> None:
    found = extract(text, {"type": "object", "required": ["a"]})
    assert isinstance(found, Extraction) == slip


# what backends print, and models that get lost


@pytest.mark.parametrize(
    "heading", ["=== assistant ===", "=== assistant ===\n\n", "=== user ===\nHi\n\n=== assistant ==="]
)
@pytest.mark.parametrize("text", [MARA, MARA.replace(", ", ",\n"), MARA.replace("}", ",}")])
def test_the_heading_of_a_transcript_is_a_line_of_its_own(heading: str, text: str) -> None:
    assert rule(f"{heading}\n{text}") == ("tidied" if ",}" in text else "span")
    assert rule(f"{heading}\n```json\n{text}\n```") == ("tidied" if ",}" in text else "fence")


@pytest.mark.parametrize("blank", ["\n", " ", " \n", "\t", "\u00a0", "\u200b"])
@pytest.mark.parametrize("before", ["", "Here:\n", "```json\n"])
def test_a_run_of_blanks_instead_of_an_end_is_a_cut_reply(blank: str, before: str) -> None:
    run = blank * 50_000
    for text in ('{"name": "Mara", "age": 52', '{"age": 52, "name": "Mara"', '{"name": "Mara",', '{"name": ', "{"):
        assert reason(f"{before}{text}{run}") == "truncated"
        assert reason(f"{before}{text}{run}", OPEN) == "truncated"


@pytest.mark.parametrize("blank", ["\n", " ", " \n", "\t"])
def test_a_run_of_blanks_around_or_inside_a_whole_object_says_nothing(blank: str) -> None:
    run = blank * 50_000
    for text in (f"{MARA}{run}", f"{run}{MARA}", MARA.replace(" ", run), MARA.replace("}", f"{run}}}")):
        assert rule(text) == "strict"
        assert rule(f"Here:\n{text}") == "span"
        assert rule(f"```json\n{text}\n```") == "fence"
    assert rule(f'{{"name": "Mara", "age": 52,{run}}}') == "tidied"


# reasons


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "none"),
        (" \n\ufeff", "none"),
        ("I cannot help with that.", "none"),
        ("<think>Hm.</think>", "none"),
        ('{"name": "Mara", "age": ???}', "none"),
        ("Hello {name}, your code is {code}.", "none"),
        ('{"name": "Ma', "truncated"),
        ("```json\n{", "truncated"),
        ('Sure:\n{"name": "Mara",' + " \n" * 300, "truncated"),
        ('{"name": "Mara"}\nBye', "invalid"),
        ('{"name": "Mara"} {"age": 5}', "ambiguous"),
        ('Given [1] and [2]:\n{"name": "Mara"}', "invalid"),
        ('It said {"error": 1} twice.', "none"),
        ("{}" * 2_000, "ambiguous"),
    ],
)
def test_the_reason_says_what_a_correction_must_be_about(text: str, expected: str) -> None:
    assert reason(text) == expected


def test_an_invalid_value_is_handed_over_with_its_problems() -> None:
    found = extract('Here:\n{"name": "Mara", "age": "52"}', PERSON)
    assert isinstance(found, NoJson)
    assert found.value == {"name": "Mara", "age": "52"}
    assert [problem.pointer for problem in found.problems] == ["/age"]


def test_unreadable_json_is_located() -> None:
    found = extract('Here:\n{"name": "Mara",\n "age": 5_2}', PERSON)
    assert isinstance(found, NoJson)
    assert "line 3, column 9" in found.sentence


GIVEN = '{"name": "France", "population": 68000000}'
LAND: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "population": {"type": "integer"}},
    "required": ["name", "population"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("between", ["", "\n", "\nas in\n"])
@pytest.mark.parametrize(("opening", "closing"), [("<!--", "-->"), ("/*", "*/")])
def test_what_stands_in_a_comment_is_no_answer(opening: str, closing: str, between: str) -> None:
    text = f"Here:\n{opening}{between}\n{GIVEN}\n{between}{closing}\nI do not know."
    assert isinstance(extract(text, LAND), NoJson)
    after = f"{opening}{between}{closing}\n{GIVEN}"
    assert extract(after, LAND) == Extraction({"name": "France", "population": 68000000}, "span")


@pytest.mark.parametrize("space", ["", "\n"])
@pytest.mark.parametrize(
    "name", ["draft", "example", "tool_call", "tool_response", "function=search", 'invoke name="x"']
)
def test_what_an_element_holds_that_is_no_answer_is_none(name: str, space: str) -> None:
    closing = name.replace("=", " ").split()[0]
    assert isinstance(extract(f"<{name}>{space}{GIVEN}{space}</{closing}>", LAND), NoJson)
    fenced = f"<{name}>\n```json\n{GIVEN}\n```\n</{closing}>"
    assert isinstance(extract(fenced, LAND), NoJson)


@pytest.mark.parametrize("space", ["", "\n"])
@pytest.mark.parametrize("name", ["pre", "code", "answer", "json", "result", "div class='x'"])
def test_an_element_that_sets_a_text_or_says_answer_may_hold_one(name: str, space: str) -> None:
    found = extract(f"<{name}>{space}{GIVEN}{space}</{name.split()[0]}>", LAND)
    assert found == Extraction({"name": "France", "population": 68000000}, "span")


def test_what_is_struck_out_on_lines_of_its_own_is_no_answer() -> None:
    assert isinstance(extract(f"~~\n{GIVEN}\n~~", LAND), NoJson)
