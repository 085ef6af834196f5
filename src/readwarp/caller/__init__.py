"""The command `call` and readwarp.Caller: germline, somatic and structural variants of alignments."""
