"""CONTRIBUTING.md and docs/design.md name files, functions and nox sessions that exist."""

import ast
import re
from pathlib import Path

import pytest

from helpers.layers import ROOT

PAGE, DESIGN = ROOT / "CONTRIBUTING.md", ROOT / "docs" / "design.md"
PACKAGE = ROOT / "src" / "readwarp"  # where the paths of the design page begin
NAMED = re.compile(r"`([\w./-]*/[\w.-]+\.\w+|\w+\.(?:md|toml|cff))(?:: ([\w., ]+))?`")  # `file` or `file: name, name`
GITHUB = ROOT / ".github"
WORKFLOWS = sorted(GITHUB.glob("workflows/*.yml"))


def stale(page: str) -> list[str]:
    """Files that do not exist, and names that are not at the top level of their file."""
    found = []
    for file, names in NAMED.findall(page):
        path = next((base / file for base in (ROOT, PACKAGE) if (base / file).is_file()), None)
        if path is None:
            found.append(f"{file}: no such file")
            continue
        missing = set(names.split(", ")) - top_level(path) if names else set()
        found += [f"{file}: no {name} at its top level" for name in sorted(missing)]
    return found


def top_level(path: Path) -> set[str]:
    """Functions, classes, methods (`Class.method`) and variables of a module."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
            if isinstance(node, ast.ClassDef):
                names |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return names


@pytest.mark.parametrize("page", [PAGE, DESIGN], ids=lambda page: page.name)
def test_files_and_names_exist(page):
    found = stale(page.read_text())
    assert not found, f"{page.name} names what has moved:\n" + "\n".join(found)
    assert len(NAMED.findall(page.read_text())) > 30


def test_what_is_stale_is_found():
    assert stale(
        "`src/readwarp/config/align.py: Scoring, Nothing` and `src/no.py: a`, `no.md`, `README.md`, `--option`"
    ) == [
        "src/readwarp/config/align.py: no Nothing at its top level",
        "src/no.py: no such file",
        "no.md: no such file",
    ]


@pytest.mark.parametrize(
    "path", [PAGE, ROOT / ".ci" / "run", GITHUB / "pull_request_template.md", *WORKFLOWS], ids=lambda path: path.name
)
def test_sessions_of_nox_exist(path):
    defined = set(re.findall(r"@nox\.session(?:\(.*\))?\ndef (\w+)", (ROOT / "noxfile.py").read_text()))
    asked = re.findall(r"(?:nox -s|^sessions)((?: [a-z]+)+)", path.read_text(), re.M)
    assert {name for names in asked for name in names.split()} <= defined
