"""Long reads to alignments, with the index and the batches of short reads.

seeds.py  a part of their syncmers, looked up     chains.py  collinear anchors     cut.py  what lies between anchors
lengths.py  which reads they are     ends.py  what lies beyond them     extension.py  all of it joined to alignments
"""
