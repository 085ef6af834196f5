"""The layers of src/readwarp, and who imports whom: for tests/test_layers.py and the picture in the docs."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "readwarp"
SOURCES = sorted(PACKAGE.rglob("*.py"))

# cli, run, caller, ..., align | call | molecules | report, pairwise | index | stream | finish, formats | rules,
# device, compiler, the rest
LAYERS = [
    {"cli"},
    {"run"},
    {"caller"},
    {"cohort", "somatic", "structural"},
    {"align", "call", "molecules", "report"},
    {"pairwise", "index", "stream", "finish"},
    {"formats", "rules"},
    {"device"},
    {"compiler"},
    {
        "config",
        "errors",
        "metrics",
        "python",
        "ragged",
        "system",
        "version",
        "wording",
    },
    {"_version"},  # written when the package is built
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}


def module_of(path: Path) -> str:
    """src/readwarp/align/seed/cpu.py -> readwarp.align.seed.cpu; a package is named after its folder."""
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")


def room_of_file(path: Path) -> str:
    """src/readwarp/align/seed/cpu.py -> align, src/readwarp/config/align.py -> config."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def room_of(module: str) -> str | None:
    """readwarp.align.seed.cpu -> align; None for the package itself and for other packages."""
    package, *rest = module.split(".")
    return rest[0] if package == "readwarp" and rest else None


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Full names of what a file imports, including inside functions; `from a import b` gives a.b."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found += (f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(found)
