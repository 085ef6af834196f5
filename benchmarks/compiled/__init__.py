"""What the compilers make of the CUDA kernels, without a GPU: registers, memory, instructions of hot loops.

`kernels` lists them, `compile` makes PTX, machine code and its listing, `listing` finds loops and counts instructions
by pipe, `occupancy` and `cards` say what that allows on a card.
"""
