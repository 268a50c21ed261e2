"""The commands."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vancetope import __version__
from vancetope.cli import options as opt
from vancetope.cli.lines import Line
from vancetope.cli.trouble import BROKEN_PIPE, INTERRUPTED, Refused, failed, print_json

if TYPE_CHECKING:
    from vancetope.cli.wishes import Wishes

EPILOG = (
    "Exit codes: 0 answered, 2 usage or configuration, 3 the model's server failed, 4 the turn failed otherwise, "
    "5 a query without an answer, 6 over budget, 130 interrupted, 141 nobody reads the output, 1 a bug in vancetope."
)
QUERY_EPILOG = (
    "Exit codes: 0 answered, 2 usage or configuration, 5 no answer (stderr and --json say why), 130 interrupted, "
    "141 nobody reads the output, 1 a bug in vancetope."
)
HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings=HELP,
)
models_app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=HELP)
app.add_typer(models_app, name="models")


def run(arguments: list[str]) -> int:
    """Run one command; its exit code. Only KeyboardInterrupt leaves as an exception."""
    as_json = "--json" in arguments
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 (it stays open as long as we live)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal has the encoding of its locale; who reads a pipe or a file expects UTF-8.
            stream.reconfigure(errors="replace", encoding=None if stream.isatty() else "utf-8")
    try:
        code = int(app(arguments, prog_name="vancetope", standalone_mode=False) or 0)
        if sys.stdout is not None:
            sys.stdout.flush()  # what cannot be written fails here, where that can be told
        return code
    except (SystemExit, BrokenPipeError):  # the parser leaves in this way when the reader of its help is gone
        return BROKEN_PIPE
    except typer.Abort:
        return INTERRUPTED
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG):
            return failed(Refused(f"the output cannot be written: {error.strerror}"), as_json=False)
        return failed(error, as_json=as_json)
    except Exception as error:
        if _was_interrupted(error):
            return INTERRUPTED
        return _usage(error, as_json) if hasattr(error, "format_message") else failed(error, as_json=as_json)


def _was_interrupted(error: BaseException) -> bool:
    """Whether Ctrl-C is behind this. Python itself wraps one that comes while a class is being made, and so may a
    module that is being loaded."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, KeyboardInterrupt):
            return True
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return False


def _usage(error: Any, as_json: bool) -> int:
    """What the parser of the command line refuses, in its own words."""
    error.show()
    if as_json:
        print_json({"type": "error", "code": 2, "message": error.format_message()})
    return 2


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"vancetope {__version__}")
        raise typer.Exit


@app.callback(epilog=EPILOG)
def vancetope(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Agent turns that end by contract, on any model."""


@app.command("chat")
def chat_command(
    model: opt.Model = None,
    local: opt.Local = False,
    recipe: opt.RecipeName = None,
    param: opt.Param = None,
    turn_end: opt.TurnEndWish = None,
    enforcement: opt.EnforcementWish = None,
    instructions: opt.Instructions = "",
    yes: opt.Yes = False,
    as_json: opt.Json = False,
    wire: opt.Wire = False,
) -> int:
    """Talk with a model; /help inside lists what it takes."""
    from vancetope.cli.chat import chat

    wishes = _wishes(
        model=model,
        local=local,
        recipe=recipe,
        params=tuple(param or ()),
        turn_end=turn_end,
        enforcement=enforcement,
        instructions=instructions,
        agrees=yes,
        as_json=as_json,
        wire=wire,
    )
    return _unless_unread(lambda: chat(wishes))


@app.command("ask")
def ask_command(
    prompt: opt.Prompt = None,
    model: opt.Model = None,
    local: opt.Local = False,
    recipe: opt.RecipeName = None,
    param: opt.Param = None,
    turn_end: opt.TurnEndWish = None,
    enforcement: opt.EnforcementWish = None,
    instructions: opt.Instructions = "",
    max_iterations: opt.MaxIterations = None,
    max_corrections: opt.MaxCorrections = None,
    budget: opt.BudgetWish = None,
    deadline: opt.Deadline = None,
    history: opt.HistoryFile = None,
    save: opt.SaveTo = None,
    seed: opt.Seed = None,
    temperature: opt.Temperature = None,
    yes: opt.Yes = False,
    as_json: opt.Json = False,
    wire: opt.Wire = False,
    quiet: opt.Quiet = False,
) -> int:
    """Ask once. The answer goes to stdout, everything else to stderr; piped text is read as context."""
    from vancetope.cli.ask import ask
    from vancetope.cli.wishes import Files

    wishes = _wishes(
        model=model,
        local=local,
        recipe=recipe,
        params=tuple(param or ()),
        turn_end=turn_end,
        enforcement=enforcement,
        instructions=instructions,
        max_iterations=max_iterations,
        max_corrections=max_corrections,
        budget=budget,
        deadline=deadline,
        seed=seed,
        temperature=temperature,
        agrees=yes,
        as_json=as_json,
        wire=wire,
        quiet=quiet,
    )
    return _unless_unread(lambda: ask(prompt, wishes, Files(history=history, save=save)))


@app.command("query", epilog=QUERY_EPILOG)
def query_command(
    schema: opt.SchemaFrom,
    prompt: opt.Prompt = None,
    model: opt.Model = None,
    local: opt.Local = False,
    recipe: opt.RecipeName = None,
    param: opt.Param = None,
    enforcement: opt.EnforcementWish = None,
    instructions: opt.Instructions = "",
    max_attempts: opt.MaxAttempts = None,
    format_checks: opt.FormatChecks = False,
    max_iterations: opt.ToolRounds = None,
    budget: opt.BudgetWish = None,
    deadline: opt.Deadline = None,
    seed: opt.Seed = None,
    temperature: opt.Temperature = None,
    yes: opt.Yes = False,
    as_json: opt.WrapperJson = False,
    wire: opt.Wire = False,
    quiet: opt.Quiet = False,
) -> int:
    """Ask for one JSON object that fits a schema. It goes to stdout, everything else to stderr."""
    from vancetope.cli.query import query
    from vancetope.cli.wishes import Demand

    wishes = _wishes(
        model=model,
        local=local,
        recipe=recipe,
        params=tuple(param or ()),
        enforcement=enforcement,
        instructions=instructions,
        max_iterations=max_iterations,
        budget=budget,
        deadline=deadline,
        seed=seed,
        temperature=temperature,
        agrees=yes,
        as_json=as_json,
        wire=wire,
        quiet=quiet,
    )
    demand = Demand(schema=schema, max_attempts=max_attempts, format_checks=format_checks)
    return _unless_unread(lambda: query(prompt, wishes, demand))


def _wishes(*, local: bool, **said: Any) -> Wishes:
    from vancetope.cli.wishes import Wishes

    if local:
        if said["model"] is not None:
            raise Refused("say --local or --model, not both")
        said["model"] = "local:"
    for name in ("turn_end", "enforcement"):
        said[name] = None if said.get(name) is None else said[name].value
    return Wishes(**said)


@models_app.callback(invoke_without_command=True)
def models_command(ctx: typer.Context, no_probe: opt.NoProbe = False, as_json: opt.Json = False) -> int:
    """What can be used here, and why not. `models pull` fetches a local model."""
    from vancetope.cli.models import models

    if ctx.invoked_subcommand is not None:
        return 0
    return _unless_unread(lambda: models(probe=not no_probe, as_json=as_json))


@models_app.command("pull")
def pull_command(model: opt.PullName = None) -> int:
    """Fetch a local model into the cache."""
    from vancetope.cli.models import pull

    return _unless_unread(lambda: pull(model))


@app.command("recipes")
def recipes_command(name: opt.RecipeShown = None, as_json: opt.OneJson = False) -> int:
    """Which recipes there are and where each comes from, or one of them as it stands."""
    from vancetope.cli.recipes import recipes

    return _unless_unread(lambda: recipes(name, as_json=as_json))


@app.command("settings")
def settings_command(name: opt.SettingShown = None, as_json: opt.OneJson = False) -> int:
    """What holds here and who says it: the environment, the project, the tenant; and which secrets are set."""
    from vancetope.cli.settings import settings

    return _unless_unread(lambda: settings(name, as_json=as_json))


@app.command("usage")
def usage_command(by: opt.By = opt.ByOption.MODEL, since: opt.Since = None, as_json: opt.OneJson = False) -> int:
    """What model calls in this project have used and cost, and what is left of its budgets."""
    from vancetope.cli.usage import usage

    return _unless_unread(lambda: usage(by=by.value, since=since, as_json=as_json))


def _unless_unread(command: Callable[[], int]) -> int:
    """The exit code of a command, or of a command that nobody reads any more: the parser would call that a failure.
    What the command used is written down by then."""
    try:
        return command()
    except BrokenPipeError:
        return BROKEN_PIPE
    finally:
        _write_usage()


def _write_usage() -> None:
    """See the usage of this command written, if it has counted any."""
    from vancetope.cli.page import aside
    from vancetope.cli.usage_file import closed

    for each in closed():
        aside(Line(f"· {each}", "bad"))
