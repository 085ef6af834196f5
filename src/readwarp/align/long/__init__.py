"""Long reads to alignments, with the index and the batches of short reads.

    lengths.py    which reads are long            seeds.py   a sample of their syncmers, looked up
    chain/        collinear anchors               select.py  which chains to extend
    extension.py  chains to alignments: cut.py and pieces.py between anchors, ends/ beyond them
    choose.py     which alignments become records

chain, pieces and ends can run on cards; everything else runs on the host.
"""
