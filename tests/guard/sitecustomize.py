"""Python imports this at start-up of every process that has this folder on PYTHONPATH."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

import network_guard

network_guard.install()


def _run_the_one_we_hide() -> None:
    here = Path(__file__).parent
    elsewhere = [entry for entry in sys.path if Path(entry or ".").resolve() != here.resolve()]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_run_the_one_we_hide()
