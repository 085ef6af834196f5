"""Reads BCF files for `bcf_text`, in a process of its own: htslib may crash on what is damaged.

A request is a line of JSON on stdin: what to do, the number of a file, and more. The answer on stdout is a byte, 1 for
an error, the length of a text (8 bytes, little-endian), and the text. Imports nothing but pysam, to start soon.
"""

import json
import os
import sys
from itertools import islice
from typing import Any

from readwarp import stopping


def main() -> None:
    stopping.ignore()  # signals to all processes of a job: this one ends with its stdin

    import pysam

    pysam.set_verbosity(0)
    answers, files = os.fdopen(os.dup(1), "wb"), Files(pysam.VariantFile)
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            status, text = b"\0", files.answer(json.loads(line))
        except Exception as error:
            status, text = b"\1", str(error)
        data = text.encode(errors="surrogateescape")
        answers.write(status + len(data).to_bytes(8, "little") + data)
        answers.flush()


class Files:
    """Those that are open, by number."""

    def __init__(self, kind: Any):
        self._kind, self._files = kind, dict[int, Any]()

    def answer(self, request: dict[str, Any]) -> str:
        """open: the header and the names of contigs by their numbers, as JSON. read: virtual offset after some records,
        and these in lines; `at`: from another offset on. close: nothing.
        """
        number, do = request["file"], request["do"]
        if do == "open":
            descriptor = os.open(request["name"], os.O_RDONLY)
            try:  # under this name htslib finds no index, which it would load
                self._files[number] = self._kind(f"/proc/self/fd/{descriptor}")
            finally:
                os.close(descriptor)
            header = self._files[number].header
            return json.dumps([str(header), list(header.contigs)])
        if do == "close":
            self._files.pop(number).close()
            return ""
        file = self._files[number]
        if (at := request.get("at")) is not None:
            file.seek(at)
        text = "".join(map(str, islice(file, request["records"])))
        return f"{file.tell()}\n{text}"


if __name__ == "__main__":
    main()
