"""Alignments: SAM, BAM and CRAM out (`output.py`) and back in (`regions.py`); sorted, marked and indexed on the way."""
