"""Resources of a run."""

from dataclasses import dataclass

from readwarp.errors import UsageError

MAX_BATCH = 1 << 30  # bases: numbers of reads and bases in a batch have 31 bits


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources that a run may use. Budgets are in bytes; None: the free memory less a margin."""

    threads: int = 1
    device: str = "cpu"  # auto | cpu | cuda | cuda:0,1
    memory: int | None = None
    vram: int | None = None
    batch_bases: int | None = None

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise UsageError("--threads must be at least 1")
        if self.batch_bases is not None and not 1 <= self.batch_bases <= MAX_BATCH:
            raise UsageError(f"--batch-bases must be 1 to {MAX_BATCH:,}")
