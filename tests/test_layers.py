"""The house keeps its shape: imports only go down, Numba has one door, `--help` is instant, files stay small."""

import ast
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.layers import LEVEL, PACKAGE, ROOT, SOURCES, imports, module_of, room_of, room_of_file

pytestmark = pytest.mark.xdist_group("sources")  # whose imports are read once for all
LINES, FUNCTION_LINES = 400, 70
BESIDE = {  # imports between rooms of one layer
    ("formats", "rules"),
    ("config", "errors"),
    ("python", "errors"),
    ("python", "wording"),
    ("index", "stream"),  # what a job reports
    ("python", "config"),
}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT / "src").as_posix()


@pytest.fixture(scope="module")
def functions() -> Iterator[dict[str, list[ast.FunctionDef]]]:
    """The functions of each file, methods and inner ones too."""
    trees = {name_of(path): ast.parse(path.read_text()) for path in SOURCES}
    yield {name: [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)] for name, tree in trees.items()}


def test_imports_go_down_only():
    up = []
    for path in SOURCES:
        here = room_of_file(path)
        for module in imports(path) if here in LEVEL else ():  # the package's own __init__ and __main__ may see all
            there = room_of(module)
            is_up = there in LEVEL and there != here and LEVEL[there] <= LEVEL[here]
            if is_up and (here, there) not in BESIDE:
                up.append(f"{name_of(path)} imports {module}")
    assert not up


def test_rooms_of_call_import_earlier_ones_only():
    """The order of the data: places, then reads of them, candidates in these, ..."""
    order = ("places", "reads", "candidates", "likelihoods", "records", "steps", "windows")
    for path in SOURCES:
        _, *here = module_of(path).split(".")
        if here[:1] != ["call"] or len(here) < 2 or here[1] not in order:
            continue
        for module in imports(path):
            _, *there = module.split(".")
            if there[:1] == ["call"] and len(there) > 1:
                is_earlier = there[1] in order and order.index(there[1]) <= order.index(here[1])
                assert is_earlier or here[1] in ("steps", "windows"), f"{name_of(path)} imports {module}"


def test_imports_among_formats_go_down_only():
    level = {"reads": 0, "variants": 0, "alignments": 1, "common": 2}
    for path in SOURCES:
        _, *here = module_of(path).split(".")
        if here[:1] != ["formats"] or len(here) < 2:
            continue
        for module in imports(path):
            package, *there = module.split(".")
            if package == "readwarp" and there[0] == "formats" and there[1] != here[1]:
                assert level[there[1]] > level[here[1]], f"{name_of(path)} imports {module}"


def test_no_circle_of_imports():
    """Imports inside functions and for type checkers count: modules that import each other are halves of one."""
    modules = {module_of(path): path for path in SOURCES}
    below = {
        module: {name if name in modules else name.rpartition(".")[0] for name in imports(path)} & modules.keys()
        for module, path in modules.items()
    }
    ends: set[str] | None = None
    while ends is None or ends:  # modules that import none of the rest, or that none of it imports, are in no circle
        imported = set().union(*below.values())
        ends = {module for module, needed in below.items() if not needed or module not in imported}
        below = {module: needed - ends for module, needed in below.items() if module not in ends}
    assert not below, f"in circles, or between two: {sorted(below)}"


def test_numba_has_one_door():
    others = []
    for path in SOURCES:
        if path.parent.name in ("compiler", "device"):
            continue
        for module in imports(path):
            if module == "numba" or module.startswith("numba."):
                others.append(f"{name_of(path)} imports {module}: use readwarp.compiler.jit")
            if module == "readwarp.device.cuda_jit.cuda" and path.stem.split("_")[0] != "cuda":
                others.append(f"{name_of(path)} imports CUDA outside */cuda*.py")
    assert not others


DOCUMENTED = tuple(
    f"numba.{name}" for name in ("njit", "from_dtype", "types", "extending", "core.cgutils", "__version__")
)


def test_internals_of_numba_have_one_door():
    """Where Numba moves them, kernels are compiled all the same: see src/readwarp/compiler/README.md."""
    for path in (PACKAGE / "compiler").glob("*.py"):
        for module in imports(path) if path.stem != "internals" else ():
            is_numba = module.split(".")[0] == "numba"
            assert not is_numba or module.startswith(DOCUMENTED), f"{name_of(path)} imports {module}"


def test_kernels_for_cards_are_kept_on_disk():
    """Everything but functions that only a card calls is a `cuda_kernel`."""
    bare = [name_of(path) for path in SOURCES if "@cuda.jit\n" in path.read_text()]
    assert not bare, "use readwarp.device.cuda_jit.cuda_kernel"


def test_kernels_stand_with_the_step_that_launches_them():
    """A module is named for its subject, see docs/design.md."""
    assert [name_of(path) for path in SOURCES if path.name.endswith("kernels.py")] == []


def test_files_and_functions_stay_small(functions):
    assert not [name_of(path) for path in SOURCES if path.read_text().count("\n") > LINES]
    lengths = [
        (f"{name}: {node.name}", (node.end_lineno or 0) - node.lineno + 1)
        for name, nodes in functions.items()
        for node in nodes
    ]
    assert [each for each in lengths if each[1] > FUNCTION_LINES] == []


def test_a_step_has_a_cpu_side_where_it_has_a_cuda_side_and_only_there():
    """Other modules are named after what they do."""
    steps = {path.parent: set() for path in SOURCES}
    for path in SOURCES:
        steps[path.parent].add(path.stem)
    alone = [name_of(step) for step, names in steps.items() if len(names & {"cpu", "cuda"}) == 1]
    assert not alone, alone


# Folders of tests besides those of the rooms: whole programs, shared helpers, and the card that tests run on.
BESIDE_ROOMS = {"benchmarks", "emulated_card", "fuzz", "gpu", "helpers", "packaging", "workflows"}


def test_folders_of_tests_mirror_those_of_the_package():
    tests = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("*.py")}
    rooms = {path.parent.relative_to(ROOT / "src" / "readwarp") for path in SOURCES}
    strange = {folder for folder in tests - rooms if folder.parts[0] not in BESIDE_ROOMS}
    assert not strange, f"no such room: {sorted(map(str, strange))}"


def test_no_test_imports_another():
    """Shared code belongs in tests/helpers."""
    for path in (ROOT / "tests").rglob("*.py"):
        for module in imports(path):
            assert not re.search(r"(^|\.)(test_|conftest)", module.rpartition(".")[0] or module), f"{path}: {module}"


def test_every_source_is_known_to_a_layer():
    known = {"__init__", "__main__", *LEVEL}
    assert set(map(room_of_file, SOURCES)) <= known


HEAVY = ("numpy", "numba", "llvmlite", "pysam", "rich", "Bio", "isal", "dnaio", "matplotlib", "jinja2", "shtab")
COMMANDS = [
    "run",
    "index",
    "align",
    "merge",
    "consensus",
    "call",
    "genotype",
    "panel",
    "report",
    "pairwise",
    "compile",
    "doctor",
    "completion",
]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_imports_nothing_heavy(command):
    code = (
        "import sys; from readwarp.cli import main;"
        f"assert main({[*command.split(), '--help']!r}) == 0;"
        f"heavy = {set(HEAVY)!r} & set(sys.modules);"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "usage: readwarp" in done.stdout


def test_help_is_instant():
    """Best of five, in processor time, so that a busy machine does not fail it. The limit is 0.2 s."""
    times = []
    for _ in range(5):
        before = processor_time_of_children()
        subprocess.run([sys.executable, "-m", "readwarp", "align", "--help"], check=True, capture_output=True)
        times.append(processor_time_of_children() - before)
    assert min(times) < 0.2, times


def processor_time_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


OF_ROWS = {"each_row", "each_size", "ragged_rows"}
COMPILERS = OF_ROWS | {"kernel", "scalar", "cuda_kernel", "cuda.jit", "inlined", "code_of"}
HOST_PARAMETERS, COMPILED_PARAMETERS = 6, 8
PYTHON_API = {  # keywords that users give
    "readwarp/caller/caller.py: write",
    "readwarp/call/likelihoods/pairhmm/api.py: pair_hmm",
    "readwarp/pairwise/api.py: pairwise",
}


def is_compiled(function: ast.FunctionDef) -> bool:
    return any(ast.unparse(each).split("(")[0] in COMPILERS for each in function.decorator_list)


def test_batches_travel_whole(functions):
    """No function takes its data array by array."""
    many = []
    for file, nodes in functions.items():
        for node in nodes:
            names = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            number = len(names) - (names[:1] in (["self"], ["cls"]))
            limit = COMPILED_PARAMETERS if is_compiled(node) else HOST_PARAMETERS
            if number > limit and f"{file}: {node.name}" not in PYTHON_API:
                many.append(f"{file}: {node.name} has {number} parameters")
    assert not many


def host_functions(nodes: list[ast.FunctionDef]) -> list[ast.FunctionDef]:
    """The functions that Numba does not compile, apart from those inside of compiled ones."""
    compiled = {inner for node in nodes if is_compiled(node) for inner in ast.walk(node)}
    return [node for node in nodes if node not in compiled]


def test_functions_of_the_host_are_annotated(functions):
    """mypy is strict but for this, as compiled functions have no annotations."""
    incomplete = []
    for file, nodes in functions.items():
        for function in host_functions(nodes):
            given = function.args
            names = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            bare = [each.arg for each in names if each and each.annotation is None and each.arg not in ("self", "cls")]
            if bare or not (function.returns is not None or function.name == "__init__"):
                incomplete.append(f"{file}: {function.name} lacks annotations")
    assert not incomplete
