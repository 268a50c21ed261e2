"""Thirty schemas from easy to hard, each with a question that holds the facts, and where in the answer they belong.

Whether an answer carries what it was told is seen without a judge: every fact has a place, as a JSON pointer. A told
text is found if it is in the text at its place, whatever the case; every other value has to be equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from bench.order import ORDER, ORDERED

Level: TypeAlias = Literal["flat", "bounds and choices", "optional and null", "lists", "nested", "unions and maps"]
Schema: TypeAlias = dict[str, Any]

LEVELS: tuple[Level, ...] = (
    "flat",
    "bounds and choices",
    "optional and null",
    "lists",
    "nested",
    "unions and maps",
)


@dataclass(frozen=True, slots=True)
class Case:
    """One schema, a question to it, and the facts of the question by their place in the answer."""

    level: Level
    prompt: str
    schema: Schema
    told: Mapping[str, Any]


def closed(*optional: str, **properties: Schema) -> Schema:
    """An object with these properties and no others; those named in `optional` may be left out."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def choice(*values: str) -> Schema:
    return {"enum": [*values]}


def listed(items: Schema, **bounds: Any) -> Schema:
    return {"type": "array", "items": items, **bounds}


TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}
MAYBE_TEXT: Schema = {"type": ["string", "null"]}
WEEKDAY = choice("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

FLAT = (
    Case("flat", "Anna lives in Oslo.", closed(name=TEXT, city=TEXT), {"/name": "Anna", "/city": "Oslo"}),
    Case(
        "flat",
        "The novel Middlemarch by George Eliot came out in 1871.",
        closed(title=TEXT, author=TEXT, year=WHOLE),
        {"/title": "Middlemarch", "/author": "George Eliot", "/year": 1871},
    ),
    Case(
        "flat",
        "A blue lamp costs 24.5 euros.",
        closed(product=TEXT, price=NUMBER, currency=TEXT),
        {"/product": "lamp", "/price": 24.5, "/currency": "eur"},
    ),
    Case(
        "flat",
        "The museum is open today, but its garden is closed.",
        closed(museum_open=FLAG, garden_open=FLAG),
        {"/museum_open": True, "/garden_open": False},
    ),
    Case(
        "flat",
        "En Lima la temperatura es de 19 grados y la humedad del 83 por ciento.",
        closed(city=TEXT, temperature=WHOLE, humidity=WHOLE),
        {"/city": "Lima", "/temperature": 19, "/humidity": 83},
    ),
)

BOUNDED = (
    Case(
        "bounds and choices",
        "The food was cold and the waiter was rude. I will never come back.",
        closed(sentiment=choice("positive", "neutral", "negative")),
        {"/sentiment": "negative"},
    ),
    Case(
        "bounds and choices",
        "I saw Blue Harbour yesterday and give it 4 of 5 stars.",
        closed(film=TEXT, stars={"type": "integer", "minimum": 1, "maximum": 5}),
        {"/film": "Blue Harbour", "/stars": 4},
    ),
    Case(
        "bounds and choices",
        "My order is KD-4071, and I am still waiting for it.",
        closed(order={"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$"}),
        {"/order": "KD-4071"},
    ),
    Case(
        "bounds and choices",
        "The invoice of 2024-03-17 is about 120 euros.",
        closed(date={"type": "string", "format": "date"}, amount={"type": "number", "exclusiveMinimum": 0}),
        {"/date": "2024-03-17", "/amount": 120},
    ),
    Case(
        "bounds and choices",
        "Frau Weber erreicht man unter weber@example.org.",
        closed(name={"type": "string", "minLength": 2, "maxLength": 40}, email={"type": "string", "format": "email"}),
        {"/name": "Weber", "/email": "weber@example.org"},
    ),
    Case(
        "bounds and choices",
        "Le train pour Lyon est en retard, il part du quai 7.",
        closed(
            destination=TEXT,
            status=choice("on time", "delayed", "cancelled"),
            platform={"type": "integer", "minimum": 1, "maximum": 30},
        ),
        {"/destination": "Lyon", "/status": "delayed", "/platform": 7},
    ),
)

OPTIONAL = (
    Case(
        "optional and null",
        "The patient is Peter Hill. He has no middle name.",
        closed(first_name=TEXT, middle_name=MAYBE_TEXT, last_name=TEXT),
        {"/first_name": "Peter", "/middle_name": None, "/last_name": "Hill"},
    ),
    Case(
        "optional and null",
        "Rosa is 34 and works as a nurse.",
        closed(
            *("age", "job", "city", "email", "phone", "hobby"),
            name=TEXT,
            age=WHOLE,
            job=TEXT,
            city=TEXT,
            email=TEXT,
            phone=TEXT,
            hobby=TEXT,
        ),
        {"/name": "Rosa", "/age": 34, "/job": "nurse"},
    ),
    Case(
        "optional and null",
        "We meet on Thursday. Nobody knows the room yet.",
        closed(day=WEEKDAY, room={"anyOf": [TEXT, {"type": "null"}]}),
        {"/day": "Thursday", "/room": None},
    ),
    Case(
        "optional and null",
        "Two boxes of tea, please, wrapped as a gift.",
        closed(
            *("gift", "note"),
            product=TEXT,
            quantity={"type": "integer", "minimum": 1},
            gift=FLAG,
            note={"type": "string", "maxLength": 60},
        ),
        {"/product": "tea", "/quantity": 2, "/gift": True},
    ),
    Case(
        "optional and null",
        "田中さんは42歳で、大阪に住んでいます。",
        closed(name=TEXT, age=WHOLE, city=TEXT, email=MAYBE_TEXT),
        {"/name": "田中", "/age": 42, "/city": "大阪", "/email": None},
    ),
)

LISTS = (
    Case(
        "lists",
        "For the cake you need flour, sugar and eggs.",
        closed(ingredients=listed(TEXT, minItems=1, maxItems=8)),
        {"/ingredients/0": "flour", "/ingredients/1": "sugar", "/ingredients/2": "egg"},
    ),
    Case(
        "lists",
        "The three measurements were 12, 15 and 9.",
        closed(unit=MAYBE_TEXT, values=listed(WHOLE, minItems=3, maxItems=3)),
        {"/values/0": 12, "/values/1": 15, "/values/2": 9},
    ),
    Case(
        "lists",
        "The shop is closed on Saturday and Sunday.",
        closed(closed_on=listed(WEEKDAY, uniqueItems=True)),
        {"/closed_on/0": "Saturday", "/closed_on/1": "Sunday"},
    ),
    Case(
        "lists",
        "Put 3 apples and 12 melons on the list.",
        closed(items=listed(closed(name=TEXT, quantity=WHOLE))),
        {
            "/items/0/name": "apple",
            "/items/0/quantity": 3,
            "/items/1/name": "melon",
            "/items/1/quantity": 12,
        },
    ),
    Case(
        "lists",
        "The tower stands at 48.2 degrees north and 16.4 degrees east.",
        closed(
            place=TEXT,
            position={"type": "array", "prefixItems": [NUMBER, NUMBER], "items": False, "minItems": 2},
        ),
        {"/place": "tower", "/position/0": 48.2, "/position/1": 16.4},
    ),
)

NESTED = (
    Case(
        "nested",
        "Deliver it to Julia Weber, Gartenweg 5, 8010 Graz.",
        closed(name=TEXT, address=closed(street=TEXT, postcode=TEXT, city=TEXT)),
        {
            "/name": "Julia Weber",
            "/address/street": "Gartenweg 5",
            "/address/postcode": "8010",
            "/address/city": "Graz",
        },
    ),
    Case(
        "nested",
        "The flight goes from Lima in Peru to Quito in Ecuador.",
        {
            **closed(origin={"$ref": "#/$defs/place"}, destination={"$ref": "#/$defs/place"}),
            "$defs": {"place": closed(city=TEXT, country=TEXT)},
        },
        {
            "/origin/city": "Lima",
            "/origin/country": "Peru",
            "/destination/city": "Quito",
            "/destination/country": "Ecuador",
        },
    ),
    Case(
        "nested",
        "In the team Comet, Omar is the manager and Lena the designer.",
        closed(
            team=closed(
                name=TEXT,
                members=listed(closed(name=TEXT, role=choice("manager", "designer", "engineer")), minItems=1),
            )
        ),
        {
            "/team/name": "Comet",
            "/team/members/0/name": "Omar",
            "/team/members/0/role": "manager",
            "/team/members/1/name": "Lena",
            "/team/members/1/role": "designer",
        },
    ),
    Case(
        "nested",
        "The printer stands in Bern, on floor 3, in room 312.",
        closed(device=TEXT, site=closed(city=TEXT, level=closed(floor=WHOLE, room=closed(number=WHOLE)))),
        {"/device": "printer", "/site/city": "Bern", "/site/level/floor": 3, "/site/level/room/number": 312},
    ),
    Case(
        "nested",
        ORDERED,
        ORDER,
        {
            "/customer/name": "Max Brandt",
            "/customer/email": "brandt@example.org",
            "/positions/0/article": "LA-2040",
            "/positions/0/quantity": 2,
            "/positions/0/price": 24.5,
            "/positions/0/colour": "blue",
            "/delivery/branch": "harbour",
            "/payment": "cash",
        },
    ),
)

OPEN = (
    Case(
        "unions and maps",
        "Draw a circle with a radius of 7.",
        closed(
            shape={
                "oneOf": [
                    closed(kind={"const": "square"}, side=NUMBER),
                    closed(kind={"const": "circle"}, radius=NUMBER),
                    closed(kind={"const": "rectangle"}, width=NUMBER, height=NUMBER),
                ]
            }
        ),
        {"/shape/kind": "circle", "/shape/radius": 7},
    ),
    Case(
        "unions and maps",
        "Ben has 12 points and Mia has 9.",
        closed(points={"type": "object", "additionalProperties": WHOLE, "minProperties": 1}),
        {"/points/Ben": 12, "/points/Mia": 9},
    ),
    Case(
        "unions and maps",
        "Karim is 27 and comes from Tunis.",
        {
            "type": "object",
            "allOf": [
                {"properties": {"name": TEXT, "age": WHOLE}, "required": ["name", "age"]},
                {"properties": {"city": TEXT}, "required": ["city"]},
            ],
        },
        {"/name": "Karim", "/age": 27, "/city": "Tunis"},
    ),
    Case(
        "unions and maps",
        "Ada has two children, Tom and Eve. They have none.",
        {
            "$ref": "#/$defs/person",
            "$defs": {"person": closed(name=TEXT, children=listed({"$ref": "#/$defs/person"}, maxItems=4))},
        },
        {"/name": "Ada", "/children/0/name": "Tom", "/children/1/name": "Eve"},
    ),
)

CASES: tuple[Case, ...] = (*FLAT, *BOUNDED, *OPTIONAL, *LISTS, *NESTED, *OPEN)
