"""The command line: its subcommands, and the one place where exceptions become exit codes.

A subcommand is a row of `jobs`, or a module with `add_arguments(parser)` and `run(options)`. Only the requested one is
imported, and it imports NumPy, Numba and pysam inside `run`, because `--help` has to be instant.
"""

import argparse
import atexit
import os
import shlex
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from readwarp.cli import heap, slips, streams
from readwarp.cli.parser import CommandParser, Parser
from readwarp.errors import ReadwarpError, UsageError
from readwarp.system import stopping
from readwarp.version import __version__

COMMANDS = {
    "run": "align reads and call variants, in one go",
    "index": "build the index of a reference",
    "align": "align reads: FASTQ, BAM or CRAM to SAM, BAM or CRAM",
    "merge": "join parts and lanes: sort, mark duplicates, index",
    "consensus": "collapse the reads of each molecule (UMI) into a consensus read",
    "call": "call variants from sorted alignments",
    "genotype": "genotype a cohort from the gVCF of each sample",
    "panel": "make a panel of normals for somatic calling",
    "report": "report one sample or several on an HTML page",
    "pairwise": "align pairs of sequences (Smith-Waterman)",
    "compile": "compile kernels ahead of time, for images, clusters and packages",
    "doctor": "show what this machine has and what is missing",
    "completion": "print a completion script for a shell",
}
JOBS = ("index", "align", "merge", "consensus", "call", "genotype", "panel")  # commands of `readwarp.cli.jobs`
ANSWERS: dict[type[BaseException], tuple[int, str]] = {  # exit code, message
    **stopping.ENDS,
    MemoryError: (5, "out of memory: try a smaller --memory or fewer --threads"),
}
NO_MEMORY = ("Cannot allocate memory", "failed to map segment", "can't start new thread")
EPILOG = """\
example:
  readwarp run ref.fa reads_1.fq.gz reads_2.fq.gz -o results

`readwarp help COMMAND`, or `readwarp COMMAND --help`, shows the options of one command.
exit codes: 0 success, 1 internal error, 2 usage, 3 bad input, 4 unusable device, 5 not enough memory, 130 / 143 stopped
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Without `argv`, signals stop the process, and it may end here."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["help"]:  # `help` and `help COMMAND`
        arguments = [*arguments[1:2], "--help"]
    if argv is None:
        streams.prepare()
        stopping.install()
        heap.keep_freed()
    try:
        code = _run(arguments)
        streams.flush_stdout()
        if argv is None:
            stopping.ignore()
        return code
    except BaseException as error:
        if argv is None:
            stopping.ignore()
        is_stopped = isinstance(stopping.cause_of(error), tuple(stopping.ENDS))
        code = explain(stopping.cause_of(error), _is_verbose(arguments), resumes="--resume" in arguments)
        if argv is None:
            sys.unraisablehook = lambda _: None  # libraries complain when interrupted
            _let_go(error)
            is_busy = any(thread.name.startswith("readwarp") for thread in threading.enumerate())
            if is_stopped or is_busy:  # in a kernel, or blocked on a pipe: do not wait for them
                _exit(code)
        return code


def _run(arguments: Sequence[str]) -> int:
    if not arguments:
        build_parser(arguments).print_help(sys.stderr)
        return UsageError.exit_code
    try:
        options = parse(arguments)
    except SystemExit as leaving:  # --help, --version
        return leaving.code if isinstance(leaving.code, int) else 0
    options.command_line = shlex.join(["readwarp", *arguments])
    options.run(options)
    return 0


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the options of the requested command. Raises UsageError."""
    slips.check_words(arguments, COMMANDS)
    return build_parser(arguments).parse_args(arguments)


def build_parser(arguments: Sequence[str] = (), every: bool = False) -> argparse.ArgumentParser:
    """Build the parser, with the arguments of the requested command or of every one."""
    parser = Parser(
        "readwarp",
        description="Sequencing reads to alignments and variants, on GPU or SIMD CPU cores.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"readwarp {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=CommandParser)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        command.description = summary[0].upper() + summary[1:] + "."
        if every or name in arguments[:1]:
            module = import_module(f"readwarp.cli.{'jobs' if name in JOBS else name}")
            command.epilog = Path(__file__).with_name("examples").joinpath(f"{name}.txt").read_text()
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return parser


def explain(error: BaseException, verbose: bool = False, resumes: bool = False) -> int:
    """Print a line on stderr that says what went wrong, with -v after a traceback; return the exit code.

    resumes: whether the command, if stopped, continues when it is given again.
    """
    if isinstance(error, BrokenPipeError):  # the reader of our output, such as `head`, has gone: no error
        streams.give_up_stdout()
        return 0
    if verbose:
        import traceback

        streams.tell("".join(traceback.format_exception(error)).rstrip())
    code, line = _code_and_line(error)
    hint = "; the same command continues (--resume)" if resumes and isinstance(error, tuple(stopping.ENDS)) else ""
    streams.tell(f"readwarp: error: {line}{hint}")
    streams.give_up_stdout()
    return code


def _code_and_line(error: BaseException) -> tuple[int, str]:
    text = " ".join(str(error).split())
    if isinstance(error, ReadwarpError):
        return error.exit_code, text
    for kind, answer in ANSWERS.items():
        if isinstance(error, kind):
            return answer
    if _lacks_memory(error):
        return ANSWERS[MemoryError]
    if isinstance(error, OSError) and error.errno:
        return 1, f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
    return 1, f"internal error: {type(error).__name__}: {text} (please report this; -v shows the traceback)"


def _lacks_memory(error: BaseException | None) -> bool:
    """Return whether the system denied memory to a library, thread or process: Python has no MemoryError for these."""
    while error is not None:
        if any(text in str(error) for text in NO_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def _let_go(error: BaseException | None) -> None:
    """Free what the frames of an error hold, such as locks and files."""
    while error is not None:
        error = error.with_traceback(None).__context__


def _exit(code: int) -> NoReturn:
    """End the process immediately. The driver frees the memory that threads use on a card.

    Otherwise `python -m` would end by SIGINT, whatever the exit code, if that has stopped an `exec()`, such as that of
    a dataclass being imported.
    """
    if "readwarp.device.cuda_driver" in sys.modules:
        sys.modules["readwarp.device.cuda_driver"].keep()
    sys.stderr.flush()
    atexit._run_exitfuncs()  # temporary folders
    os._exit(code)


def _is_verbose(arguments: Sequence[str]) -> bool:
    return any(a == "--verbose" or (a.startswith("-v") and set(a[1:]) == {"v"}) for a in arguments)
