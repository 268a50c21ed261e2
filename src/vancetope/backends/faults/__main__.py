"""`python -m vancetope.backends.faults --port 8300 --scenario clock`: the fault server, until Ctrl-C.

The first line it prints is the base URL for clients of OpenAI's chat format, the second those for others.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Sequence

from vancetope.backends.faults.scenarios import KINDS, SCENARIOS, scenario
from vancetope.backends.faults.server import FaultServer
from vancetope.errors import ConfigError


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve, or list what can be served. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m vancetope.backends.faults", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 (the default) takes a free one and prints it")
    parser.add_argument("--scenario", default="clock", help="a scenario, or a fault")
    parser.add_argument("--always", action="store_true", help="the fault every time, not only once")
    parser.add_argument("--lenient", action="store_true", help="answer requests that strict providers would refuse")
    parser.add_argument("--list", action="store_true", help="print all scenarios and faults, and leave")
    given = parser.parse_args(arguments)
    if given.list:
        sys.stdout.writelines(f"{name:24} {make.__doc__}\n".split("\n")[0] + "\n" for name, make in SCENARIOS.items())
        sys.stdout.writelines(f"{each.name:24} {each.about} {' '.join(each.rows)}\n" for each in KINDS.values())
        return 0
    try:
        server = FaultServer(scenario(given.scenario, always=given.always), strict=not given.lenient, port=given.port)
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(server))
    return 0


async def _serve(server: FaultServer) -> None:
    async with server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.write(f"Anthropic: {server.anthropic_url} Gemini: {server.gemini_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    sys.exit(main())
