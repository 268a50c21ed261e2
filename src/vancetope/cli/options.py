"""The options that commands share, each written once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer


class TurnEndOption(StrEnum):
    RESPOND = "respond"
    NATURAL = "natural"


class EnforcementOption(StrEnum):
    NATIVE = "native"
    CONSTRAINED = "constrained"
    PROMPTED = "prompted"


class ByOption(StrEnum):
    MODEL = "model"
    DAY = "day"
    PURPOSE = "purpose"
    PROCESS = "process"


Model: TypeAlias = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="MODEL", help="provider:name, for example ollama:qwen3:4b or local:"),
]
Local: TypeAlias = Annotated[bool, typer.Option("--local", help="Stay on this machine: the same as --model local:")]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Say yes to every question.")]
RecipeName: TypeAlias = Annotated[
    str | None, typer.Option("--recipe", "-r", metavar="RECIPE", help="A recipe by its name, or a .yaml file.")
]
RecipeShown: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="NAME", help="The one to show; a .yaml file is checked and shown, too.")
]
SettingShown: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="KEY", help="The one to show, or a group such as budgets.")
]
OneJson: TypeAlias = Annotated[bool, typer.Option("--json", help="One line of JSON on stdout, for programs.")]
Param: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--param", "-p", metavar="NAME=VALUE", help="A parameter, before the recipe's own; may be repeated."),
]
TurnEndWish: TypeAlias = Annotated[TurnEndOption | None, typer.Option("--turn-end", help="How a turn may end.")]
EnforcementWish: TypeAlias = Annotated[
    EnforcementOption | None, typer.Option("--enforcement", help="How the contract reaches the model.")
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="One event a line on stdout, for programs.")]
WrapperJson: TypeAlias = Annotated[
    bool,
    typer.Option("--json", help="One line of JSON on stdout, for a failure too: success, attempts, data or error."),
]
Wire: TypeAlias = Annotated[
    bool, typer.Option("--wire", help="Print every request and reply on stderr, without secrets.")
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer, and errors.")]
Prompt: TypeAlias = Annotated[
    str | None, typer.Argument(help="The question; - or nothing reads stdin.", show_default=False)
]
SchemaFrom: TypeAlias = Annotated[
    str,
    typer.Option(
        "--schema", "-s", metavar="FILE", help="JSON Schema as .json or .yaml, - for stdin, or module:Class (pydantic)."
    ),
]
MaxAttempts: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", help="Most replies of the model, 1 to 10 (3 unless said).")
]
FormatChecks: TypeAlias = Annotated[
    bool, typer.Option("--format-checks", help="A text that misses its `format` is wrong, not only hinted at.")
]
ToolRounds: TypeAlias = Annotated[
    int | None, typer.Option("--max-iterations", metavar="N", help="Most tool rounds, if the recipe has tools.")
]
Instructions: TypeAlias = Annotated[str, typer.Option(metavar="TEXT", help="Added to the recipe's prompt.")]
MaxIterations: TypeAlias = Annotated[int | None, typer.Option(metavar="N", help="Most rounds of the turn.")]
MaxCorrections: TypeAlias = Annotated[int | None, typer.Option(metavar="N", help="Most corrections of the turn.")]
BudgetWish: TypeAlias = Annotated[
    int | None, typer.Option("--budget", metavar="TOKENS", min=1, help="Most tokens it may use.")
]
Deadline: TypeAlias = Annotated[float | None, typer.Option(metavar="SECONDS", help="Most time for the turn.")]
HistoryFile: TypeAlias = Annotated[
    Path | None, typer.Option("--history", metavar="FILE", help="Go on with a saved conversation.")
]
SaveTo: TypeAlias = Annotated[Path | None, typer.Option("--save", metavar="FILE", help="Save the conversation.")]
Seed: TypeAlias = Annotated[int | None, typer.Option(metavar="N", help="Sample the same way again.")]
Temperature: TypeAlias = Annotated[float | None, typer.Option(metavar="T", min=0, help="0 is the most sober.")]
NoProbe: TypeAlias = Annotated[bool, typer.Option("--no-probe", help="Ask no server.")]
PullName: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="[NAME|PATH|URL]", help="Which model; nothing is the small one.")
]
By: TypeAlias = Annotated[ByOption, typer.Option("--by", help="What stands together in one line.")]
Since: TypeAlias = Annotated[
    str | None, typer.Option(metavar="DATE", help="Leave out earlier calls; a date is the start of a day in UTC.")
]
