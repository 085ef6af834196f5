"""Each kind of card has the form of lanes that its machine code makes fastest. No card is needed."""

import re
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from compiled.compile import run_tool, tool
from readwarp.device.lanes import HALF2, S16X2, LaneForm, form_of

pytestmark = [
    pytest.mark.cards,
    pytest.mark.skipif(tool("ptxas") is None or tool("nvdisasm") is None, reason="needs ptxas and nvdisasm"),
]
CELL = "gained", "extended", "highest", "maximum3"  # what the cells of a tile are made of
KERNEL = """
.version 9.0
.target {target}
.address_size 64
.visible .entry cell(.param .u64 given)
{{
    .reg .b32 %x<4>, t, u; .reg .b16 l, h; .reg .b64 %at;
    ld.param.u64 %at, [given];
    ld.global.u32 %x0, [%at]; ld.global.u32 %x1, [%at + 4]; ld.global.u32 %x2, [%at + 8];
    {cell}
    st.global.u32 [%at], %x3;
    ret;
}}
"""


def instructions(form: LaneForm, target: str, folder: Path) -> int:
    """The instructions of a cell, on a target of ptxas."""
    lines = [re.sub(r"\$(\d)", lambda found: f"%x{(int(found[1]) + 3) % 4}", form.ptx[name][0]) for name in CELL]
    source, code = folder / "cell.ptx", folder / "cell.cubin"
    source.write_text(KERNEL.format(target=target, cell="\n    mov.b32 %x0, %x3;\n    ".join(lines)))
    run_tool("ptxas", f"-arch={target}", str(source), "-o", str(code))
    found = re.findall(
        r"^\s+/\*\w{4}\*/\s+(?:@!?\w+ )?([A-Z]\w*)", run_tool("nvdisasm", "-c", str(code)).stdout, re.MULTILINE
    )
    return sum(name not in ("NOP", "BRA", "EXIT", "LDC", "LDCU", "S2R", "LDG", "STG") for name in found)


@pytest.mark.parametrize("capability", [(9, 0), (10, 0), (10, 3), (11, 0), (12, 0)], ids=str)
def test_the_form_of_a_card_has_the_fewest_instructions(capability, tmp_path):
    target = "sm_{}{}a".format(*capability)
    counted = {form: instructions(form, target, tmp_path) for form in (S16X2, HALF2)}
    assert form_of(capability) is min(counted, key=counted.get), counted
