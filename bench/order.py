"""A schema of the size that people have at work, about 3 KB, with a question to it and the whole answer, as a provider
gives it that wants every property: null for what may be left out."""

from __future__ import annotations

from typing import Any

ORDERED = (
    "I am Max Brandt, brandt@example.org. I want 2 blue lamps, article LA-2040, at 24.5 euros each. I collect them at "
    "the harbour branch and pay cash."
)
ANSWERED: dict[str, Any] = {
    "customer": {"name": "Max Brandt", "email": "brandt@example.org", "phone": None},
    "recipient": None,
    "positions": [{"article": "LA-2040", "quantity": 2, "price": 24.5, "colour": "blue"}],
    "delivery": {"kind": "collection", "branch": "harbour", "day": None},
    "payment": "cash",
    "remark": None,
}
ORDER: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Order",
    "description": "An order as a customer described it in words.",
    "type": "object",
    "properties": {
        "customer": {"$ref": "#/$defs/person", "description": "Who ordered and pays."},
        "recipient": {
            "anyOf": [{"$ref": "#/$defs/person"}, {"type": "null"}],
            "description": "Who gets the goods; null where it is the customer.",
        },
        "positions": {
            "type": "array",
            "description": "What was ordered, in the order of the text.",
            "items": {"$ref": "#/$defs/position"},
            "minItems": 1,
            "maxItems": 20,
        },
        "delivery": {
            "description": "How the goods travel.",
            "anyOf": [
                {
                    "type": "object",
                    "properties": {
                        "kind": {"const": "parcel"},
                        "address": {"$ref": "#/$defs/address"},
                        "express": {"type": "boolean", "description": "Whether it has to be there the next day."},
                    },
                    "required": ["kind", "address"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {
                        "kind": {"const": "collection"},
                        "branch": {"enum": ["harbour", "market", "station"]},
                        "day": {"type": "string", "format": "date", "description": "The day of the collection."},
                    },
                    "required": ["kind", "branch"],
                    "additionalProperties": False,
                },
            ],
        },
        "payment": {"enum": ["card", "invoice", "cash"], "description": "How the customer wants to pay."},
        "remark": {
            "type": ["string", "null"],
            "maxLength": 200,
            "description": "Wishes for which there is no other place.",
        },
    },
    "required": ["customer", "recipient", "positions", "delivery", "payment", "remark"],
    "additionalProperties": False,
    "$defs": {
        "person": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 80, "description": "The full name."},
                "email": {"type": ["string", "null"], "format": "email"},
                "phone": {"type": ["string", "null"], "pattern": "^[+]?[0-9 ]{5,20}$"},
            },
            "required": ["name", "email", "phone"],
            "additionalProperties": False,
        },
        "position": {
            "type": "object",
            "properties": {
                "article": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$", "description": "The article number."},
                "quantity": {"type": "integer", "minimum": 1, "maximum": 999},
                "price": {"type": "number", "minimum": 0, "description": "Euros for one piece."},
                "colour": {"enum": ["black", "white", "blue", "red", None], "description": "Null where none was said."},
            },
            "required": ["article", "quantity", "price", "colour"],
            "additionalProperties": False,
        },
        "address": {
            "type": "object",
            "properties": {
                "street": {"type": "string", "minLength": 1, "description": "Street and house number."},
                "postcode": {"type": "string", "pattern": "^[0-9]{4,5}$"},
                "city": {"type": "string", "minLength": 1},
            },
            "required": ["street", "postcode", "city"],
            "additionalProperties": False,
        },
    },
}
