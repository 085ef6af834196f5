"""Child process of `htslib` that reads BCF and CRAM files.

A request is a line of JSON on stdin: what to do, the number of a file, and more. The answer on stdout is a byte, 1 for
an error, the length of a text (8 bytes, little-endian), and the text; for an error it is htslib's message. Imports
nothing but pysam, to start quickly.
"""

import json
import os
import sys
from itertools import islice
from typing import Any

MOST_SAID = 1 << 16  # bytes of htslib's messages


def main() -> None:
    import pysam

    pysam.set_verbosity(1)
    answers, files = os.fdopen(os.dup(1), "wb"), Files(pysam.VariantFile, pysam.AlignmentFile)
    said = os.memfd_create("said")
    for descriptor in (1, 2):
        os.dup2(said, descriptor)
    for line in sys.stdin:
        os.lseek(said, 0, os.SEEK_SET)
        os.ftruncate(said, 0)
        try:
            status, text = b"\0", files.answer(json.loads(line))
        except Exception as error:
            status, text = b"\1", os.pread(said, MOST_SAID, 0).decode(errors="surrogateescape") or str(error)
        data = text.encode(errors="surrogateescape")
        answers.write(status + len(data).to_bytes(8, "little") + data)
        answers.flush()


class Files:
    """Open files, by number."""

    def __init__(self, variants: Any, alignments: Any):
        self._variants, self._alignments, self._files = variants, alignments, dict[int, Any]()
        actions = self.open_bcf, self.read_bcf, self.open_cram, self.read_cram, self.close
        self._actions = {action.__name__: action for action in actions}

    def answer(self, request: dict[str, Any]) -> str:
        action, number = self._actions[request.pop("do")], request.pop("file")
        return action(number, **request)

    def open_bcf(self, number: int, name: str) -> str:
        """Return the header and the names of contigs by number, as JSON."""
        descriptor = os.open(name, os.O_RDONLY)
        try:  # htslib finds no index under this name, and so loads none
            self._files[number] = self._variants(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
        header = self._files[number].header
        return json.dumps([str(header), list(header.contigs)])

    def read_bcf(self, number: int, records: int, at: int | None) -> str:
        """Return the virtual offset after some records, and these as lines. at: a virtual offset to go to first."""
        file = self._files[number]
        if at is not None:
            file.seek(at)
        text = "".join(map(str, islice(file, records)))
        return f"{file.tell()}\n{text}"

    def open_cram(self, number: int, name: str, reference: str | None) -> str:
        """Open a CRAM file; return its header."""
        self._files[number] = self._alignments(name, reference_filename=reference, check_sq=False)
        return str(self._files[number].header)

    def read_cram(
        self, number: int, output: str, places: list[tuple[str, int, int]] | None, records: int | None
    ) -> str:
        """Write the records of the places, or the file's first ones, to a BAM file."""
        file = self._files[number]
        with self._alignments(output, "wbu", header=file.header) as out:
            if places is None:
                file.reset()
                for record in islice(file.fetch(until_eof=True), records):
                    out.write(record)
            for place in places or ():
                for record in file.fetch(*place):
                    out.write(record)
        return ""

    def close(self, number: int) -> str:
        self._files.pop(number).close()
        return ""


if __name__ == "__main__":
    main()
