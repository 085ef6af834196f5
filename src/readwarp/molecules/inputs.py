"""Read the input's header, and make the output's."""

import re
from pathlib import Path
from typing import NamedTuple

from readwarp.errors import InputError
from readwarp.formats.alignments.header import check_ids, field, header_text, lines_of, program_lines
from readwarp.formats.reads.bam import read_header

STRANGE = re.compile("[^!-?A-~]")  # letters not allowed in read names
LONGEST_PREFIX = 200  # letters of a name; at most 254 with the molecule's
FIELDS = ("DS", "LB", "SM", "PL", "PU", "CN")  # fields of a read group that the output keeps


class Input(NamedTuple):
    path: Path
    header: str
    by_place: bool  # sorted by coordinate
    prefix: str  # prefix of consensus read names

    @classmethod
    def open(cls, path: Path) -> "Input":
        """Read the header. Raises InputError for a file that is sorted by name, or has several samples."""
        header = read_header(str(path))
        order = next(iter(lines_of(header, "HD")), "")
        if field(order, "SO") == "queryname":
            raise InputError(path, "is sorted by name: sort it by coordinate")
        groups = lines_of(header, "RG")
        check_ids(path, groups)
        samples = sorted({field(line, "SM") or "" for line in groups})
        if len(samples) > 1:
            raise InputError(path, f"has reads of several samples ({', '.join(samples)}): split it (`samtools split`)")
        named = ((field(line, "LB"), field(line, "ID")) for line in groups)
        names = sorted({".".join(dict.fromkeys(filter(None, both))) for both in named}) or ["consensus"]
        prefix = "|".join(names)
        return cls(path, header, field(order, "SO") == "coordinate", STRANGE.sub("_", prefix[:LONGEST_PREFIX]))

    def output_header(self, group: str, command: str | None) -> str:
        """Make the header of unaligned reads of one read group."""
        groups, programs = lines_of(self.header, "RG"), lines_of(self.header, "PG")
        line = f"@RG\tID:{group}"
        for name in FIELDS:
            values = dict.fromkeys(value for each in groups if (value := field(each, name)))
            if values:
                line += f"\t{name}:{','.join(values)}"
        return header_text([], "none", [line], program_lines(programs, command) if command else programs)
