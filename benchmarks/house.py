"""Count the figures that keep src a house one can live in, against their bars: house.py [COMMIT ...]

Each figure has a row and each commit a column, by default that of the working tree. `tests/test_house.py` holds the
figures of the working tree at their LIMITS, which only fall, until they are the BARS.

    lines of src            of all Python files
    shared class names      names of classes that are defined in more than one module
    leaning docstrings      per 1,000: those that open with one of LEANING
    parallel assignments    per 1,000 statements: of three and more names
    rooms of call           entries of src/readwarp/call
    stray modules           modules of less than 60 lines with a single importer
    complex functions       with more than 20 paths: branches, loops, handlers, conditions, comprehensions
    lines of batches.py     0: there is none
"""

import ast
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BARS = {
    "lines of src": 57_000,
    "shared class names": 10,
    "leaning docstrings": 10,
    "parallel assignments": 5,
    "rooms of call": 8,
    "stray modules": 8,
    "complex functions": 0,
    "lines of batches.py": 120,
}
LEANING = {"of", "as", "those", "that", "what", "whatever", "likewise"}
STRAY, COMPLEX, MANY = 60, 20, 3
BRANCHES = ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.Assert, ast.comprehension, ast.match_case
Figures = dict[str, int]


def module_of(path: Path, source: Path) -> str:
    """src/readwarp/align/steps.py -> readwarp.align.steps; a package is named after its folder."""
    return ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")


def imports(tree: ast.AST) -> Iterator[str]:
    """Full names of what a file imports, inside functions too; `from a import b` gives a and a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def paths_through(function: ast.AST) -> int:
    """The complexity of McCabe, conditions of `and` and `or` counted one by one."""
    nodes = list(ast.walk(function))
    operators = sum(len(node.values) - 1 for node in nodes if isinstance(node, ast.BoolOp))
    return 1 + operators + sum(isinstance(node, BRANCHES) for node in nodes)


def opening(node: ast.AST) -> str | None:
    """The first word of a docstring, in lower case; None: there is none."""
    text = ast.get_docstring(node) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) else None
    return text.split()[0].strip(",.:;").lower() if text else None


def is_parallel(node: ast.AST) -> bool:
    """Whether it assigns several values to as many names at once."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Tuple)
        and any(isinstance(target, ast.Tuple) and len(target.elts) >= MANY for target in node.targets)
    )


def stray_modules(trees: dict[str, ast.AST], lines: dict[str, int]) -> set[str]:
    """Short modules, packages included, that one other module imports."""
    importers: dict[str, set[str]] = defaultdict(set)
    for module, tree in trees.items():
        for name in set(imports(tree)) & trees.keys():
            importers[name].add(module)
    return {module for module, own in importers.items() if len(own) == 1 and lines[module] < STRAY}


def figures_of(source: Path) -> Figures:
    """source: the folder that holds the package."""
    package = source / "readwarp"
    packages = list(package.rglob("__init__.py"))
    texts = {path: path.read_text() for path in sorted(package.rglob("*.py")) if path.name != "_version.py"}
    trees = {module_of(path, source): ast.parse(text) for path, text in texts.items()}
    lines = {module_of(path, source): text.count("\n") for path, text in texts.items()}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    classes = Counter(
        name for tree in trees.values() for name in {n.name for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}
    )
    docstrings = [word for node in nodes if (word := opening(node))]
    statements = sum(isinstance(node, ast.stmt) for node in nodes)
    rooms = [path for path in (package / "call").glob("[!_]*") if path.is_dir() or path.suffix == ".py"]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    return {
        "lines of src": sum(lines.values()),
        "shared class names": sum(number > 1 for number in classes.values()),
        "leaning docstrings": per_thousand(sum(word in LEANING for word in docstrings), len(docstrings)),
        "parallel assignments": per_thousand(sum(map(is_parallel, nodes)), statements),
        "rooms of call": len(rooms),
        "stray modules": len(stray_modules(trees, lines) - {module_of(path, source) for path in packages}),
        "complex functions": sum(paths_through(function) > COMPLEX for function in functions),
        "lines of batches.py": lines.get("readwarp.batches", 0),
    }


def per_thousand(part: int, whole: int) -> int:
    """Rounded up, so that a bar is met or missed."""
    return -(-1000 * part // max(whole, 1))


def main() -> None:
    commits = sys.argv[1:]
    columns = [] if commits else [figures_of(ROOT / "src")]
    for commit in commits:
        with tempfile.TemporaryDirectory() as scratch:
            command = ["git", "-C", str(ROOT), "archive", commit, "src"]
            archive = subprocess.run(command, check=True, capture_output=True)
            subprocess.run(["tar", "-x", "-C", scratch], input=archive.stdout, check=True)
            columns.append(figures_of(Path(scratch) / "src"))
    print("| | bar |", " | ".join(commits or ["now"]), "|")
    print("|---|---|" + "---|" * len(columns))
    for name, bar in BARS.items():
        print(f"| {name} | {bar:,} |", " | ".join(f"{figures[name]:,}" for figures in columns), "|")


if __name__ == "__main__":
    main()
