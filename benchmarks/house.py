"""Describe a commit's src by lines per room, parameters, lengths and duplicates: house.py COMMIT [COMMIT ...]

Each figure has a row, each commit a column. Compiled functions are those under `kernel`, `scalar`, `cuda_kernel` or
`cuda.jit`. Duplicates are runs of six lines that also occur elsewhere. Errors are those of `mypy --strict`.
"""

import ast
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPILERS = {"kernel", "scalar", "cuda_kernel", "cuda.jit"}
RUN = 6
Figures = dict[str, int]


def functions(tree: ast.AST) -> Iterator[tuple[ast.FunctionDef, int, bool]]:
    """Each function, its parameters (without self), and whether it is compiled."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            number = len(given) - bool(given and given[0].arg in ("self", "cls"))
            yield node, number, any(ast.unparse(d).split("(")[0] in COMPILERS for d in node.decorator_list)


def runs_of(path: Path) -> list[tuple[int, tuple[str, ...]]]:
    """Where each run of RUN lines of code begins. Blank lines, imports and comments do not count."""
    lines = [(number, line.strip()) for number, line in enumerate(path.read_text().splitlines())]
    code = [(n, line) for n, line in lines if line and not line.startswith(("#", "import ", "from ", '"""'))]
    return [(code[i][0], tuple(line for _, line in code[i : i + RUN])) for i in range(len(code) - RUN + 1)]


def figures_of(source: Path) -> Figures:
    paths = sorted((source / "readwarp").rglob("*.py"))
    found: Figures = {"lines": 0}
    host: list[int] = []
    compiled: list[int] = []
    long_functions, lengths = 0, []
    runs: Counter[tuple[str, ...]] = Counter()
    for path in paths:
        text = path.read_text()
        parts, lines = path.relative_to(source / "readwarp").parts, text.count("\n")
        room = f"lines of {parts[0]}/" if len(parts) > 1 else "lines of the package's own modules"
        found["lines"] += lines
        found[room] = found.get(room, 0) + lines
        lengths.append(lines)
        for node, number, is_compiled in functions(ast.parse(text)):
            (compiled if is_compiled else host).append(number)
            long_functions += (node.end_lineno or 0) - node.lineno >= 50
        runs.update(run for _, run in runs_of(path))
    found |= {
        "files": len(paths),
        "longest file, lines": max(lengths),
        "functions of more than 50 lines": long_functions,
        "host functions": len(host),
        "... of more than 6 parameters": sum(number > 6 for number in host),
        "compiled functions": len(compiled),
        "... of more than 8 parameters": sum(number > 8 for number in compiled),
        "functions of more than 10 parameters": sum(number > 10 for number in host + compiled),
        "most parameters": max(host + compiled),
        "`# fmt: skip`": sum(path.read_text().count("# fmt: skip") for path in paths),
        "duplicates": sum(places_of_runs(path, runs) for path in paths),
        "mypy --strict errors": strict_errors(source),
    }
    return found


def places_of_runs(path: Path, runs: Counter[tuple[str, ...]]) -> int:
    """Stretches of the file that also occur elsewhere."""
    starts = [number for number, run in runs_of(path) if runs[run] > 1]
    return bool(starts) + sum(after - before > RUN for before, after in pairwise(starts))


def strict_errors(source: Path) -> int:
    """The number of all strict errors; kernels have no annotations."""
    command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=source.parent)
    if done.returncode not in (0, 1):  # 1: errors were found
        sys.exit(f"mypy failed: {done.stderr or done.stdout}")
    if done.returncode and not done.stdout:
        sys.exit(done.stderr)  # mypy is not installed
    return sum(": error: " in line for line in done.stdout.splitlines())


def main() -> None:
    if not sys.argv[1:]:
        sys.exit(__doc__)
    columns: list[Figures] = []
    for commit in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as scratch:
            archive = subprocess.run(
                ["git", "-C", str(ROOT), "archive", commit, "src"], check=True, capture_output=True
            )
            subprocess.run(["tar", "-x", "-C", scratch], input=archive.stdout, check=True)
            columns.append(figures_of(Path(scratch) / "src"))
    names = list(dict.fromkeys(name for figures in columns for name in figures))
    print("| |", " | ".join(sys.argv[1:]), "|")
    print("|---|" + "---|" * len(columns))
    for name in sorted(names, key=lambda name: (name != "lines", not name.startswith("lines of "))):
        print(f"| {name} |", " | ".join(f"{figures.get(name, 0):,}" for figures in columns), "|")


if __name__ == "__main__":
    main()
