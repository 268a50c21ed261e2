"""A loopback server that goes wrong on purpose: for tests of agents on any runtime.

    async with FaultServer([KINDS["half_stream"], call("get_time", city="Paris"), respond("It is 15:42.")]) as server:
        client = ...(base_url=server.base_url)

It speaks OpenAI's chat format (`base_url`), Anthropic's messages (`anthropic_url`) and Gemini's generateContent
(`gemini_url`), all at once and from one script, refuses what strict providers refuse, and keeps what it was asked.
"""

from vancetope.backends.faults.answers import fitting
from vancetope.backends.faults.asked import Asked
from vancetope.backends.faults.check import RULES, Violation, violations
from vancetope.backends.faults.fault import (
    NARRATIONS,
    Fault,
    body,
    halved,
    reset,
    silence,
    slow,
    spoken,
    status,
    steps,
    well,
    work,
)
from vancetope.backends.faults.sayings import narration
from vancetope.backends.faults.scenarios import KINDS, SCENARIOS, clock, deliver, echo, first, scenario
from vancetope.backends.faults.server import FaultServer, Given, Repeat, Script
from vancetope.backends.faults.wire import Wire

__all__ = [
    "KINDS",
    "NARRATIONS",
    "RULES",
    "SCENARIOS",
    "Asked",
    "Fault",
    "FaultServer",
    "Given",
    "Repeat",
    "Script",
    "Violation",
    "Wire",
    "body",
    "clock",
    "deliver",
    "echo",
    "first",
    "fitting",
    "halved",
    "narration",
    "reset",
    "scenario",
    "silence",
    "slow",
    "spoken",
    "status",
    "steps",
    "violations",
    "well",
    "work",
]
