"""Count what was trimmed, and describe it."""

from collections.abc import Mapping

from readwarp.align.trim.batch import Trimmed
from readwarp.align.trim.cuts import Reason
from readwarp.metrics import Metrics
from readwarp.wording import counted

WORDS = {  # noun and the rest of the phrase
    Reason.MATES: ("adapter", " by the overlap of mates"),
    Reason.ADAPTER: ("adapter", " by sequence"),
    Reason.POLY_G: ("poly-G tail", ""),
    Reason.QUALITY: ("end", " of low quality"),
}


def count(trimmed: Trimmed, metrics: Metrics) -> None:
    """Add a batch to the counters: reads and bases cut, in total and by reason."""
    cut = trimmed.cuts.bases
    metrics.count("reads_trimmed", int(cut.any(axis=1).sum()))
    metrics.count("bases_trimmed", int(cut.sum()))
    for reason in Reason:
        name = reason.name.lower()
        metrics.count(f"reads_trimmed_{name}", int((cut[:, reason] > 0).sum()))
        metrics.count(f"bases_trimmed_{name}", int(cut[:, reason].sum()))
    metrics.count("reads_trimmed_too_short", trimmed.too_short)
    metrics.count("bases_corrected", trimmed.corrected)


def describe(counts: Mapping[str, int]) -> str:
    """Say: `trimmed 12.34 % of the reads, 5.60 % of the bases (9 poly-G tails); 12 became too short to be aligned`."""
    shares = (100 * counts[f"{what}_trimmed"] / max(1, counts[what]) for what in ("reads", "bases"))
    text = "trimmed {:.2f} % of the reads, {:.2f} % of the bases".format(*shares)
    number = {reason: counts[f"reads_trimmed_{reason.name.lower()}"] for reason in Reason}
    reasons = [counted(number[reason], noun) + rest for reason, (noun, rest) in WORDS.items() if number[reason]]
    text += f" ({', '.join(reasons)})" if reasons else ""
    if short := counts["reads_trimmed_too_short"]:
        text += f"; {short:,} became too short to be aligned"
    if corrected := counts["bases_corrected"]:
        text += f"; corrected in the overlap of mates: {corrected:,}"
    return text
