"""`python -m bench [NAME ...] [--write FILE]`: run the benchmarks named, or all, and print their tables."""

from __future__ import annotations

import argparse
import datetime
import os
import platform
from importlib import import_module
from pathlib import Path

BENCHES = {
    "turn": "Overhead of a turn",
    "query": "Overhead of a structured answer",
    "history": "A long conversation",
    "providers": "Overhead of each provider's path",
    "start": "Starting",
    "extraction": "JSON out of text",
    "local": "The local model",
    "questions": "Structured answers of the local model",
}
TEXTS = {
    "turn": "Two requests and one tool, against a server that answers at once. `raw httpx` parses the same replies and "
    "runs the same function. Everybody has the shipped defaults, tracing off, and a process of their own; they run in "
    "turn, one at a time. A ratio is taken within a round; shown are the median and the quartiles over the rounds.",
    "query": "One request and one answer by schema, against a server that answers at once with what fits. `raw httpx` "
    "sends the same prompt and the same response format and parses the reply's JSON; it checks nothing. Everybody has "
    "the shipped defaults, a process of their own and, but for ours with *a schema*, a pydantic model; they run in "
    "turn, one at a time. A ratio is taken within a round; shown are the median and the quartiles over the rounds.",
    "history": "The same turn after 10 and after 1,000 messages of history. An earlier answer goes out as the call of "
    "`respond` that would have given it, with its result, so 1,000 messages of ours are 1,500 on the wire.",
    "providers": "One request and its answer after 10 and after 1,000 messages, against a server that answers at once "
    "in the provider's wire format. `raw httpx` builds the same body and reads the text out of the reply; beside it "
    "the provider's own library, our backend alone, and a whole turn, which offers `respond` and sends an earlier "
    "answer as the call of it with its result. Everybody has the shipped defaults and a process of its own; they run "
    "in turn, one at a time. A ratio is taken within a round; shown are the median and the quartiles over the rounds.",
    "start": "CPU seconds of a whole process, user and system. The goal: 0.4 for `import vancetope` and for the help.",
    "extraction": "Each contestant reads the text; what misses the schema is dropped for everybody, as is a reply "
    "that was reported as cut. *By hand*: replies with the value that a careful reader takes from them, *certain* "
    "where readers would agree. *Written oddly*: a valid value in fences, between prose, after thinking, with "
    "trailing commas, other quotes and the like. *Doubt*: the schema takes nearly any object, or a comment stands "
    "where the schema has room for more; there ours may refuse what is not JSON as it stands or in a fence. *Damaged*: "
    "cut, values removed, dots, comments for what is left out, two objects and the like. *Wrong*: the value fits the "
    "schema and is not the one the text was made from. *Guessed right*: it is that one, though its text is not all "
    "there, or only quoted. Not among the damage, because no sign tells it from a harmless comment: a comment in place "
    "of members that no part of the schema describes, in an object that is open to them; ours takes such an object. "
    "Everybody has a process of its own; they run in turn, one at a time.",
    "local": "SmolLM2-135M as it ships. *Held*: the turn ended by `respond`. *Value told*: the delivered message holds "
    "the value that only the tool knew.",
    "questions": "SmolLM2-135M as it ships, each question with the facts in it, some of them not in English. "
    "*Answered*: the data fits the schema, checked once more by the bench. *Facts told*: values of the question that "
    "stand at their place in the answer. *Tokens a success*: all tokens, in and out, also of questions that failed.",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHES)}; all without")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the sections of this run into a Markdown file")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in BENCHES]:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(BENCHES)}")
    for name in options.names or BENCHES:
        section = _section(name)
        print(section, flush=True)
        if options.write:
            _put(options.write, name, section)


def _section(name: str) -> str:
    figures = import_module(f"bench.{name}").report()
    when = datetime.datetime.now(datetime.UTC).date()
    python = ".".join(platform.python_version_tuple()[:2])
    load = " ".join(f"{each:.1f}" for each in os.getloadavg()[:1])
    seen = f"`make bench ARGS={name}`, {when}, {os.cpu_count()} shared cores, Python {python}, load at the end {load}."
    return f"## {BENCHES[name]}\n\n{TEXTS[name]}\n\n{figures}\n\n{seen}\n"


def _put(path: Path, name: str, section: str) -> None:
    """Replace the section of this benchmark in the file; what stands before the first one stays."""
    text = path.read_text("utf-8") if path.is_file() else "# Benchmarks\n"
    head, *old = text.split("\n## ")
    kept = {part.partition("\n")[0]: f"## {part.rstrip()}\n" for part in old}
    kept[BENCHES[name]] = section
    ordered = [kept[title] for title in BENCHES.values() if title in kept]
    path.write_text("\n".join([head.rstrip() + "\n", *ordered]), "utf-8")


if __name__ == "__main__":
    main()
