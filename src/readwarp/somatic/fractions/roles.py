"""Check the roles of samples, tumour or normal, and warn if nothing tells mutations from inherited variants."""

import logging
from collections.abc import Sequence

from readwarp.config import CallParameters, FractionParameters
from readwarp.errors import UsageError
from readwarp.somatic.given import GivenFractions
from readwarp.wording import counted

logger = logging.getLogger("readwarp")


def check_roles(mode: FractionParameters, samples: Sequence[str], are_named: bool) -> None:
    """Raise UsageError for samples that do not fit the mode. are_named: by --sample."""
    names = ", ".join(samples)
    for name in mode.normals:
        if name not in samples:
            raise UsageError(f"--normal {name}: no such sample in the alignments, which have {names}")
    if not set(samples).difference(mode.normals):
        raise UsageError(f"--normal names all samples ({names}): the tumour is missing")
    if mode.is_somatic and not mode.normals and len(samples) > 1 and not are_named:
        text = f"--somatic with {len(samples)} samples ({names}): which is the normal? Name it with --normal"
        raise UsageError(f"{text}; if all are tumours, name each with --sample")


def warn_of_inherited(given: GivenFractions | None, parameters: CallParameters, passed: int | None = None) -> None:
    """Warn that calls may be inherited: before calling and, at the end, with the number that `passed`."""
    if given and given.is_blind(parameters):
        which = "what passes" if passed is None else f"the {counted(passed, 'variant')} that pass"
        cause = "without --normal, --population or --panel-of-normals, nothing tells mutations from inherited variants"
        logger.warning("%s: most of %s may be inherited (FORMAT ORIGIN: unknown)", cause, which)
