"""What a release needs, step by step; each can be tried before there is a tag.

    release.py check 0.2.0                 may 0.2.0 be released? CHANGELOG.md has a dated section, and it is the newest
    release.py notes 0.2.0                 that section, for the release's page
    release.py rehearse [0.2.0] [-o DIR]   tag a clone, build and check all that would be published
    release.py recipe 0.2.0 SDIST          packaging/conda/meta.yaml for bioconda: with the sdist's address and checksum
    release.py names 0.2.0                 workflows/ and packages by the names under which 0.2.0 can be had

The version is that of the git tag (pyproject.toml: tool.hatch.version). A section of CHANGELOG.md is `## 0.2.0
(2026-01-31)`, or `## 0.2.0 (unreleased)` before. While no section has a date, nothing is published.
"""

import argparse
import datetime
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
HEADING = re.compile(r"^## (\S+) \((.+)\)$", re.M)
SDIST_URL = "https://pypi.org/packages/source/r/readwarp/readwarp-{{ version }}.tar.gz"


class Section(NamedTuple):
    """A version's part of CHANGELOG.md; `date` is None before its release."""

    version: str
    date: str | None
    text: str


class Name(NamedTuple):
    """How files name readwarp: `now` matches what works from a clone, and the name of an earlier release."""

    files: str
    now: str
    published: str


IMAGE = "ghcr.io/readwarp/readwarp:VERSION"
ANY_IMAGE = r"(?:readwarp|ghcr\.io/readwarp/readwarp:[\w.]+)"
NAMES = (
    Name("workflows/*/workflow/envs/*.yaml", r"readwarp(\[[\w,]+\])?(?: @ git\+|==)\S+", r"readwarp\1==VERSION"),
    Name(
        "workflows/nextflow/modules/**/environment.yml",
        r"- conda-forge::python=(?:.*\n)+?.*readwarp @ git\+.*|- bioconda::readwarp=.*",
        "- bioconda::readwarp=VERSION",
    ),
    Name("workflows/nextflow/modules/**/main.nf", f"container '{ANY_IMAGE}'", f"container '{IMAGE}'"),
    Name("workflows/cwl/*.cwl", f"dockerPull: {ANY_IMAGE}$", f"dockerPull: {IMAGE}"),
    Name("workflows/wdl/*.wdl", f'image = "{ANY_IMAGE}"', f'image = "{IMAGE}"'),
    Name(
        "workflows/galaxy/macros.xml",
        r'<(?:container type="docker"|requirement type="package" version="[^"]*")>readwarp</\w+>',
        '<requirement type="package" version="VERSION">readwarp</requirement>',
    ),
    Name("workflows/galaxy/macros.xml", r'(<token name="@TOOL_VERSION@">)[^<]*', r"\g<1>VERSION"),
)


def read_sections(text: str) -> list[Section]:
    """The sections of a changelog, as they stand in it: the newest first."""
    found = list(HEADING.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return [
        Section(match[1], None if match[2] == "unreleased" else match[2], text[match.end() : end].strip() + "\n")
        for match, end in zip(found, ends, strict=True)
    ]


def is_published(text: str) -> bool:
    """Whether a changelog has a release."""
    return any(section.date for section in read_sections(text))


def check(version: str, text: str) -> Section:
    """The section of `version`, if that may be released; exits with the reason if not."""
    if not VERSION.fullmatch(version):
        sys.exit(f"{version}: not a version such as 0.2.0 or 0.2.0rc1")
    sections = read_sections(text)
    if version not in [section.version for section in sections]:
        sys.exit(f"CHANGELOG.md has no section `## {version} (DATE)`")
    if sections[0].version != version:
        sys.exit(f"CHANGELOG.md begins with {sections[0].version}, not with {version}")
    section = sections[0]
    if section.date is None:
        sys.exit(f"CHANGELOG.md: {version} is unreleased; write the date in its heading")
    try:
        datetime.date.fromisoformat(section.date)
    except ValueError:
        sys.exit(f"CHANGELOG.md: {section.date} is not a date such as 2026-01-31")
    if not section.text.strip():
        sys.exit(f"CHANGELOG.md: the section of {version} is empty")
    return section


def write_recipe(version: str, sdist: Path) -> str:
    """The recipe for bioconda, which builds the sdist that is on PyPI."""
    text = (ROOT / "packaging" / "conda" / "meta.yaml").read_text()
    checksum = hashlib.sha256(sdist.read_bytes()).hexdigest()
    text, versions = re.subn(r'(set version = )".*"', rf'\1"{version}"', text)
    text, sources = re.subn(r"^  path: .*", f"  url: {SDIST_URL}\n  sha256: {checksum}", text, flags=re.M)
    if (versions, sources) != (1, 1):
        sys.exit("packaging/conda/meta.yaml: expected one `set version` and one `path:`")
    return text


def rename(version: str, root: Path) -> list[Path]:
    """Write the published names into the files of `root`; returns those that changed."""
    changed = []
    for name in NAMES:
        for path in sorted(root.glob(name.files)):
            before = path.read_text()
            after = re.sub(name.now, name.published.replace("VERSION", version), before, flags=re.M)
            if after != before:
                path.write_text(after)
                changed.append(path)
    return changed


def run(*command: object, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=os.environ | environment, text=True, capture_output=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(source: Path, output: Path, *what: str) -> None:
    run(sys.executable, "-m", "build", "--quiet", *what, "--outdir", output, source, cwd=source)


def rehearse(version: str | None, output: Path) -> None:
    """All that the release workflow does before it publishes, in a clone of HEAD that is dated and tagged."""
    with tempfile.TemporaryDirectory() as folder:
        clone, unpacked = Path(folder) / "clone", Path(folder) / "unpacked"
        run("git", "clone", "--quiet", "--no-tags", ROOT, clone, cwd=ROOT)
        log = clone / "CHANGELOG.md"
        version = version or read_sections(log.read_text())[0].version
        log.write_text(log.read_text().replace(f"## {version} (unreleased)", f"## {version} ({datetime.date.today()})"))
        section = check(version, log.read_text())
        author = ("-c", "user.name=release", "-c", "user.email=release@localhost")
        run("git", *author, "commit", "--quiet", "--all", "--allow-empty", "-m", f"release {version}", cwd=clone)
        run("git", *author, "tag", f"v{version}", cwd=clone)
        build(clone, output)
        sdist, wheel = output / f"readwarp-{version}.tar.gz", output / f"readwarp-{version}-py3-none-any.whl"
        for path in (sdist, wheel):
            if not path.exists():
                sys.exit(f"the tag v{version} did not give {path.name} but {sorted(p.name for p in output.iterdir())}")
        with tarfile.open(sdist) as packed:
            packed.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
            packed.extractall(unpacked)
        again = Path(folder) / "again"  # as conda does it: without git, from the sdist
        build(unpacked / f"readwarp-{version}", again, "--wheel")
        if contents(again / wheel.name) != contents(wheel):
            sys.exit(f"{wheel.name}: the sdist gives another wheel than the clone")
        (output / "notes.md").write_text(section.text)
        (output / "meta.yaml").write_text(write_recipe(version, sdist))
        renamed = [path.relative_to(clone) for path in rename(version, clone)]
    print(f"{version} can be released: {output}/ holds sdist, wheel, notes.md and meta.yaml for bioconda")
    print(f"{len(renamed)} files would name {version} (release.py names {version})")


def contents(wheel: Path) -> dict[str, int]:
    """Names and checksums of the files in a wheel."""
    with zipfile.ZipFile(wheel) as packed:
        return {entry.filename: entry.CRC for entry in packed.infolist()}


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    for step in ("check", "notes", "recipe", "names"):
        steps.add_parser(step).add_argument("version")
    steps.choices["recipe"].add_argument("sdist", type=Path)
    trial = steps.add_parser("rehearse")
    trial.add_argument("version", nargs="?", help="[the newest in CHANGELOG.md]")
    trial.add_argument("-o", "--output", type=Path, default=ROOT / "dist", help="[dist/]")
    return parser.parse_args(arguments)


def main() -> None:
    arguments = parse()
    text = (ROOT / "CHANGELOG.md").read_text()
    match arguments.step:
        case "check":
            check(arguments.version, text)
        case "notes":
            print(check(arguments.version, text).text, end="")
        case "recipe":
            print(write_recipe(arguments.version, arguments.sdist), end="")
        case "names":
            check(arguments.version, text)
            print(*rename(arguments.version, ROOT), sep="\n")
        case "rehearse":
            rehearse(arguments.version, arguments.output.resolve())


if __name__ == "__main__":
    main()
