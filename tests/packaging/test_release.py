"""The release script: sections of the changelog, the recipe, names before and after, and a rehearsal in a clone."""

import hashlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOG = "# Changelog\n\nWhat changes.\n\n## 0.3.0 (DATE)\n\n* three\n\n## 0.2.0 (2026-01-31)\n\n* two\n"


def load() -> ModuleType:
    path = ROOT / "packaging" / "release.py"
    spec = importlib.util.spec_from_file_location("release", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["release"] = module
    spec.loader.exec_module(module)
    return module


release = load()


def test_a_dated_section_is_released():
    assert release.check("0.3.0", LOG.replace("DATE", "2026-02-28")).text == "* three\n"
    assert [section.date for section in release.read_sections(LOG.replace("DATE", "unreleased"))] == [
        None,
        "2026-01-31",
    ]


@pytest.mark.parametrize(
    ("version", "date", "reason"),
    [
        ("v0.3.0", "2026-02-28", "v0.3.0: not a version"),
        ("0.4.0", "2026-02-28", "no section `## 0.4.0"),
        ("0.2.0", "2026-02-28", "begins with 0.3.0, not with 0.2.0"),
        ("0.3.0", "unreleased", "0.3.0 is unreleased"),
        ("0.3.0", "28 February", "28 February is not a date"),
    ],
)
def test_what_may_not_be_released(version, date, reason):
    with pytest.raises(SystemExit, match=re.escape(reason)):
        release.check(version, LOG.replace("DATE", date))


def test_the_changelog_of_this_repository():
    sections = release.read_sections((ROOT / "CHANGELOG.md").read_text())
    assert sections and all(release.VERSION.fullmatch(section.version) for section in sections)
    assert not any(section.date is None for section in sections[1:])  # only the newest may be unreleased


def test_the_recipe_names_the_release(tmp_path):
    sdist = tmp_path / "readwarp-0.3.0.tar.gz"
    sdist.write_bytes(b"sdist")
    recipe = release.write_recipe("0.3.0", sdist)
    assert '{% set version = "0.3.0" %}' in recipe and hashlib.sha256(b"sdist").hexdigest() in recipe
    assert "  url: https://pypi.org/packages/source/r/readwarp/readwarp-{{ version }}.tar.gz\n" in recipe
    assert "path:" not in recipe


def test_the_recipe_needs_what_the_package_needs():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    recipe = (ROOT / "packaging" / "conda" / "meta.yaml").read_text()
    renamed = {"isal": "python-isal", "matplotlib": "matplotlib-base"}
    wanted = [*project["project"]["dependencies"], *project["project"]["optional-dependencies"]["report"]]
    wanted += project["build-system"]["requires"]
    for requirement in wanted:
        name, version, before = re.fullmatch(
            r"([\w.-]+)(>=[\w.]+)?(?:; python_version < '3\.(\d+)')?", requirement
        ).groups()
        line = f"- {renamed.get(name, name)}" + (f" {version}" if version else "")
        line += f"  # [py<3{before}]" if before else ""
        assert f"    {line}\n" in recipe, requirement


def test_names_change_once_there_is_a_release(tmp_path):
    """Every row of NAMES applies to files of this repository, and again after each release."""
    for name in release.NAMES:
        paths = sorted(ROOT.glob(name.files))
        assert any(re.search(name.now, path.read_text(), re.M) for path in paths), name.files
        for path in paths:
            copy = tmp_path / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(path.read_text())
    changed = release.rename("0.3.0", tmp_path)
    assert changed and all("0.3.0" in path.read_text() for path in changed)
    assert not any("git+https" in path.read_text() for path in changed)
    assert not release.rename("0.3.0", tmp_path)
    assert release.rename("0.4.0", tmp_path) == changed
    assert not any("0.3.0" in path.read_text() for path in changed)


@pytest.mark.slow
def test_a_rehearsal(tmp_path):
    """In a clone: tag, sdist, wheel, the same wheel from the sdist, notes and recipe."""
    pytest.importorskip("build")
    done = subprocess.run(
        [sys.executable, ROOT / "packaging" / "release.py", "rehearse", "99.1.0rc1", "-o", tmp_path],
        text=True,
        capture_output=True,
    )
    assert done.returncode == 1 and "no section `## 99.1.0rc1" in done.stderr
    newest = release.read_sections((ROOT / "CHANGELOG.md").read_text())[0].version
    done = subprocess.run(
        [sys.executable, ROOT / "packaging" / "release.py", "rehearse", "-o", tmp_path], text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert f"{newest} can be released" in done.stdout
    wheel = tmp_path / f"readwarp-{newest}-py3-none-any.whl"
    assert release.contents(wheel).keys() >= {"readwarp/_version.py", "readwarp/cli/__init__.py"}
    assert f'"{newest}"' in (tmp_path / "meta.yaml").read_text() and (tmp_path / "notes.md").read_text()
