"""Preparation of a batch of records on its own, in any thread or process, before the output takes it in order."""

from dataclasses import dataclass
from typing import NamedTuple

from readwarp.formats.alignments.duplicates import SKIP, Libraries, sign
from readwarp.formats.alignments.runs import MemoryRun
from readwarp.formats.alignments.sam import Encoded
from readwarp.formats.alignments.sort import ORDERS, gather


class Prepared(NamedTuple):
    """A batch on its way into the output."""

    records: Encoded
    run: MemoryRun | None = None  # these records, sorted, if the output is sorted
    reach: int = 0  # see `duplicates`


@dataclass(frozen=True, slots=True)
class Preparer:
    sort: str = "none"  # coordinate | name | none
    libraries: Libraries | None = None  # records get signatures for duplicate marking; they must be sorted
    by_umi: bool = False  # duplicates are templates of one molecule

    @property
    def skip(self) -> int:
        """Bytes of the signature before each record."""
        return 0 if self.libraries is None else SKIP

    def prepare(self, records: Encoded) -> Prepared:
        if self.sort == "none":
            return Prepared(records)
        order, reach = ORDERS[self.sort](records, 0), 0
        if self.libraries is None:
            records = gather(records, order, 0)
        else:
            records, reach = sign(records, order, self.libraries, self.by_umi)
        return Prepared(records, MemoryRun.of(records, self.skip), reach)
