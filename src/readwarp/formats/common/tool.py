"""A program that runs pysam's samtools or bcftools: `tool.py PARENT FOLDER TOOL COMMAND ARGUMENTS`.

It ends with PARENT (a PID), and runs in FOLDER, where the arguments may name files. A command needs several of these
processes, so this module imports nothing but pysam: with NumPy and the rest of the package, each would take five times
as long to start.
"""

import os
import sys

from readwarp.system.stopping import die_with_parent

OUTPUT_IS_AN_OPTION = ("query", "view")  # bcftools commands
TEXT = "stats"  # bcftools command whose text pysam would keep to itself


def main() -> int:
    parent, folder, tool, command, *arguments = sys.argv[1:]
    die_with_parent(int(parent))

    import pysam.bcftools
    import pysam.samtools
    from pysam.utils import SamtoolsError

    os.chdir(folder)  # here, not in Popen: sys.path may hold relative names
    function = getattr({"samtools": pysam.samtools, "bcftools": pysam.bcftools}[tool], command)
    try:
        if tool == "bcftools" and command in OUTPUT_IS_AN_OPTION:
            function("-o", "/dev/stdout", *arguments, catch_stdout=False)
        elif command == TEXT:
            function(*arguments, save_stdout="/dev/stdout")
        else:
            function(*arguments, catch_stdout=False)
    except SamtoolsError as error:
        print(str(error.args[0]).partition("stderr=")[2].strip("'").removesuffix("\\n") or error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
