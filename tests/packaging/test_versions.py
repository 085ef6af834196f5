"""The version of a tree without tags, and the Pythons that are named: what is said twice says the same."""

import io
import re
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
TAG = re.compile(r"^ref-names: tag: v(\S+)\+g([0-9a-f]{7,40})$", re.M)


@pytest.fixture(scope="module")
def pythons() -> list[str]:
    """The versions that are classifiers."""
    found = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", c) for c in PROJECT["project"]["classifiers"]]
    return [match[1] for match in found if match]


def test_a_copy_without_git_is_before_the_next_release():
    newest = re.search(r"^## (\S+) \(", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]
    assert PROJECT["tool"]["hatch"]["version"]["raw-options"]["fallback_version"] == f"{newest}.dev0"


def test_a_zip_says_its_commit():
    """GitHub's ZIP is `git archive`, which fills in .git_archival.txt. Without a tag, ref-names makes the version."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs a clone")
    asked = ["git", "-C", str(ROOT), "archive", "HEAD", ".git_archival.txt"]
    with tarfile.open(fileobj=io.BytesIO(subprocess.check_output(asked))) as packed:
        said = packed.extractfile(".git_archival.txt").read().decode()
    head = subprocess.check_output(["git", "-C", str(ROOT), "rev-parse", "HEAD"], text=True)
    version, commit = TAG.search(said).groups()
    assert head.startswith(commit) and "$" not in said
    assert version == PROJECT["tool"]["hatch"]["version"]["raw-options"]["fallback_version"]


def test_pythons_are_those_that_are_tested(pythons):
    assert PROJECT["project"]["requires-python"] == f">={pythons[0]}"
    assert PROJECT["tool"]["ruff"]["target-version"] == f"py{pythons[0].replace('.', '')}"
    check = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text())
    assert check["jobs"]["tests"]["strategy"]["matrix"]["python"] == pythons
    whole = yaml.safe_load((ROOT / ".github" / "workflows" / "whole.yml").read_text())
    assert whole["jobs"]["whole"]["container"] == f"python:{pythons[-1]}-bookworm"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/install.md"])
def test_pages_name_them(page, pythons):
    assert f"Python {pythons[0]} to {pythons[-1]}" in (ROOT / page).read_text()


def test_hooks_of_commits_need_no_network():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    assert {hook["language"] for hook in config["repos"][0]["hooks"]} == {"system"}
