"""The schemas of `bench.structured` as pydantic models, for the contestants that want them so."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Lamp(Closed):
    product: str
    price: float
    currency: Literal["EUR", "USD"]


class Person(Closed):
    name: Annotated[str, Field(min_length=1, max_length=80, description="The full name.")]
    email: str | None
    phone: Annotated[str | None, Field(pattern="^[+]?[0-9 ]{5,20}$")]


class Position(Closed):
    article: Annotated[str, Field(pattern="^[A-Z]{2}-[0-9]{4}$", description="The article number.")]
    quantity: Annotated[int, Field(ge=1, le=999)]
    price: Annotated[float, Field(ge=0, description="Euros for one piece.")]
    colour: Annotated[Literal["black", "white", "blue", "red"] | None, Field(description="Null where none was said.")]


class Address(Closed):
    street: Annotated[str, Field(min_length=1, description="Street and house number.")]
    postcode: Annotated[str, Field(pattern="^[0-9]{4,5}$")]
    city: Annotated[str, Field(min_length=1)]


class Parcel(Closed):
    kind: Literal["parcel"]
    address: Address
    express: Annotated[bool | None, Field(description="Whether it has to be there the next day.")] = None


class Collection(Closed):
    kind: Literal["collection"]
    branch: Literal["harbour", "market", "station"]
    day: Annotated[date | None, Field(description="The day of the collection.")] = None


class Order(Closed):
    """An order as a customer described it in words."""

    customer: Annotated[Person, Field(description="Who ordered and pays.")]
    recipient: Annotated[Person | None, Field(description="Who gets the goods; null where it is the customer.")]
    positions: Annotated[
        list[Position], Field(min_length=1, max_length=20, description="What was ordered, in the order of the text.")
    ]
    delivery: Annotated[Parcel | Collection, Field(description="How the goods travel.")]
    payment: Annotated[Literal["card", "invoice", "cash"], Field(description="How the customer wants to pay.")]
    remark: Annotated[str | None, Field(max_length=200, description="Wishes for which there is no other place.")]


MODELS: dict[str, type[BaseModel]] = {"small": Lamp, "medium": Order}
