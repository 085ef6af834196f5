"""Long reads to alignments, with the index and the batches of short reads.

lengths.py  which reads they are     seeds.py  a part of their syncmers, looked up     chain/  collinear anchors
select.py  which chains are extended     extension.py  chains to alignments: cut.py and pieces.py  what lies between
anchors     ends/  what lies beyond them     choose.py  which of them become records

chain, pieces and ends have a side for cards; all else runs on the host.
"""
