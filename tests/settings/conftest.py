"""A project and a tenant of its own for every test that asks for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.settings.layers import Place


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    project, tenant = tmp_path / "project", tmp_path / "tenant"
    project.mkdir()
    tenant.mkdir()
    (project / "vancetope.yaml").touch()
    monkeypatch.setenv("VANCETOPE_TENANT", str(tenant))
    monkeypatch.chdir(project)
    return Place(project, tenant, monkeypatch)
