"""What others could change under us: GitHub's actions are pinned by commit, with few rights, and kept up to date."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned(path):
    """By commit, whose version is a comment that dependabot keeps; a workflow of this repository is its own."""
    used = re.findall(r"\buses: *(.+)", path.read_text())
    assert used
    assert [text for text in used if not text.startswith("./") and not PINNED.fullmatch(text)] == []


def test_an_action_has_one_version():
    used = {pin for path in WORKFLOWS for pin in re.findall(r"\buses: *([^.\s]\S*) #", path.read_text())}
    assert len(used) == len({pin.partition("@")[0] for pin in used}) > 5


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_jobs_have_no_rights_by_default(path):
    """To read the contents; a job that needs more says so itself."""
    assert yaml.safe_load(path.read_text())["permissions"] == {"contents": "read"}


def test_actions_and_dependencies_are_looked_after():
    found = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]
    assert "github-actions" in {one["package-ecosystem"] for one in found}
    whole = yaml.safe_load((ROOT / ".github" / "workflows" / "whole.yml").read_text())
    assert any(step.get("run") == "nox -s audit" for step in whole["jobs"]["audit"]["steps"])
    assert "schedule" in whole[True]  # YAML reads the key `on` so
