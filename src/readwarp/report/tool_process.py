"""A program: `tool_process.py FOLDER samtools|bcftools COMMAND ARGUMENTS` runs pysam's tool in the folder."""

import os
import sys
from importlib import import_module

OUTPUT_IS_AN_OPTION = ("query", "view")  # of bcftools; the others write to stdout


def main() -> int:
    from pysam.utils import SamtoolsError

    folder, tool, command, *arguments = sys.argv[1:]
    os.chdir(folder)  # here, and not by Popen: sys.path may hold relative names
    function = getattr(import_module(f"pysam.{tool}"), command)
    try:
        if command in OUTPUT_IS_AN_OPTION:
            function("-o", "/dev/stdout", *arguments, catch_stdout=False)
        else:
            function(*arguments, save_stdout="/dev/stdout")
    except SamtoolsError as error:
        print(str(error.args[0]).partition("stderr=")[2].strip("'").removesuffix("\\n") or error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
