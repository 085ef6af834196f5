"""The texts of `samtools stats` and `bcftools stats`: lines that begin with the name of their section."""

from collections import defaultdict
from pathlib import Path

from readwarp.errors import InputError


class Sections:
    """Rows of fields by section, without its name; a section that is missing has none."""

    def __init__(self, path: Path) -> None:
        """Raises InputError for any other text."""
        self._rows: defaultdict[str, list[list[str]]] = defaultdict(list)
        text = path.read_text()
        if "This file was produced by" not in text[:200]:
            raise InputError(path, "was not made by samtools stats or bcftools stats")
        for line in text.splitlines():
            if line[:1] != "#":
                name, *fields = line.split("\t")
                self._rows[name].append(fields)

    def __getitem__(self, name: str) -> list[list[str]]:
        return self._rows.get(name, [])

    def numbers(self, name: str, *columns: int) -> list[tuple[float, ...]]:
        return [tuple(float(row[c]) for c in columns) for row in self[name]]
