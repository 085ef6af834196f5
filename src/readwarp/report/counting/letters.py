"""Read the letters of the reference, as BAM codes, from any thread."""

from pathlib import Path
from threading import Lock

import numpy as np
import pysam
from numpy import ndarray

from readwarp.errors import InputError
from readwarp.formats.common.regions import Contigs
from readwarp.formats.common.silence import quiet_htslib

KNOWN = {"A": 1, "C": 2, "G": 4, "T": 8}
CODES = bytes(KNOWN.get(chr(letter).upper(), 0) for letter in range(256))  # 0 for all other letters


class ReferenceLetters:
    """Indexed FASTA file, with the contigs of the alignments."""

    def __init__(self, fasta: Path, contigs: Contigs):
        """Open the file. Raises InputError where it cannot be read."""
        self._path, self._lock = fasta, Lock()
        self._lengths = dict(zip(contigs.names, contigs.lengths, strict=True))
        try:
            with quiet_htslib():
                self._file = pysam.FastaFile(str(fasta))
        except (OSError, ValueError) as error:
            raise InputError(fasta, "cannot be read as indexed FASTA (`samtools faidx` tells why)") from error

    def read(self, name: str, start: int, stop: int) -> ndarray:
        """Return codes (uint8) of [start, stop) of a contig. Raises InputError if missing or of another length."""
        if name not in self._file or self._file.get_reference_length(name) != self._lengths[name]:
            raise InputError(self._path, f"has no contig {name} of {self._lengths[name]} bases: is this the reference?")
        with self._lock:
            letters = self._file.fetch(name, start, stop)
        return np.frombuffer(letters.encode().translate(CODES), np.uint8)

    def close(self) -> None:
        self._file.close()
