/* What the parts of the emulated card share: the files of driver.h stand for libcuda, execute.c and checks.c for the card. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { WARP = 32, MOST_ARRAYS = 64, MOST_CARDS = 4 };

/* An array among a kernel's parameters, as Numba flattens it: meminfo, parent, items, item size, data, shape, strides. */
typedef struct {
  uint32_t first;      /* parameter that these fields begin at */
  uint32_t axes;
  uint32_t is_read, is_written; /* by some instruction of the kernel */
} Array;

typedef struct Warp Warp;
typedef struct Launch Launch;

/* A translated kernel. kernels.py fills it and keeps it for as long as the process lives. */
typedef struct {
  const char *name;
  void (*step)(Warp *, Launch *); /* runs a warp until it waits, its threads part, or it ends */
  uint32_t parameters;
  const uint32_t *sizes; /* bytes of each parameter */
  uint32_t arrays;
  const Array *array;
  uint32_t frame;   /* bytes of a warp's registers */
  uint32_t local;   /* bytes of local memory per thread */
  uint32_t shared;  /* bytes of shared memory per block, without what a launch adds */
  uint32_t threads; /* most per block */
  uint32_t blocks;  /* basic blocks, each with a counter */
  uint64_t *counters; /* uint64 [blocks, 2]: executions by a warp, executions by its threads; kept over all launches */
} Kernel;

/* One launch, from the call to its end on the stream. */
struct Launch {
  const Kernel *kernel;
  uint32_t grid[3], block[3], dynamic_shared;
  uint32_t card;            /* ordinal */
  uint64_t number;          /* of all launches of the process, from 1 */
  void **parameters;        /* the driver's copies, one of `sizes` bytes each */
  uint64_t low[MOST_ARRAYS], high[MOST_ARRAYS]; /* bytes that each array covers; filled by execute() */
  uint32_t flags;           /* which checks are on, see CHECK_ */
  uint32_t seed;            /* of the order of blocks and warps; 0: as they come */
  uint32_t is_faulty;       /* a check has found something: the launch ends with an error */
};

enum { CHECK_WRITTEN = 1, CHECK_RACES = 2, COUNT_ACCESSES = 4 };

/* Runs a launch to its end on the calling thread. 0, or the CUresult that its stream fails with. */
int execute(Launch *launch);

/* The memory of a card: one reserved range, and beside it shadows of the same addresses (checks.c). Offsets are from base. */
typedef struct {
  uint8_t *base;
  uint64_t size;
  uint8_t *written;   /* a byte for each: 1 where it has been written since it was handed out */
} Memory;
extern Memory memory_of[MOST_CARDS];

/* Adds a line to what was found wrong (thread-safe); `kind` is its first word or two. */
void finding(const char *kind, const char *format, ...);
/* Marks bytes of a card as written, or as never written (also by the host: copies, memset, new allocations). */
void mark_written(uint64_t address, uint64_t bytes, int is_written);
