/* A warp at work. Translated kernels touch the first fields by their offsets, which layout.py has too. */
#pragma once
#include <assert.h>
#include "card.h"

enum { MOVED, PARTED, ENDED, AT_BARRIER, WAITING, READY }; /* what step() ends with; READY: may run */
enum { READ, WRITE, ATOMIC };
enum { GLOBAL, SHARED, LOCAL, CONSTANT };

typedef struct {
  uint32_t at, mask, state; /* basic block, threads, and why they do not run */
} Path;

struct Warp {
  uint32_t mask, at, nearest, state; /* threads at work, their block, the lowest at which others wait */
  uint32_t other_at, other_mask;     /* the second half after PARTED */
  uint32_t alive;
  uint32_t block_index[3];
  uint8_t *frame, *shared, *local;
  uint64_t *counts;
  uint64_t shared_size; /* address behind the last shared byte */
  uint32_t number, paths;
  uint32_t barriers; /* of this warp alone: bar.warp.sync */
  Path path[WARP];
};

static_assert(offsetof(Warp, alive) == 24 && offsetof(Warp, block_index) == 28, "layout.py");
static_assert(offsetof(Warp, frame) == 40 && offsetof(Warp, counts) == 64 && offsetof(Warp, shared_size) == 72, "layout.py");
static_assert(offsetof(Launch, grid) == 8 && offsetof(Launch, parameters) == 48, "layout.py");
static_assert(offsetof(Launch, block) == 20 && offsetof(Launch, dynamic_shared) == 32, "layout.py");
static_assert(offsetof(Launch, low) == 56 && offsetof(Launch, high) == 568 && offsetof(Launch, flags) == 1080, "layout.py");

/* Flags of a launch beside CHECK_: an array with gaps between its items; one of the threads that write at once wins by chance. */
enum { HAS_GAPS = 1 << 16, ANY_WINS = 1 << 17 };
enum { SHARED_BASE = 256, THREAD_INDEX = 384 /* bytes of a frame before its registers */ };

/* Shadow of a byte of shared memory: who wrote and read it last, and behind which barriers. */
typedef struct {
  uint32_t writer, write_epoch, write_warp_epoch; /* thread + 1 */
  uint32_t reader, read_epoch, read_warp_epoch;   /* thread + 1, MANY_OF | warp, or MANY */
} SharedShadow;

/* Of the block that the calling thread runs. */
extern _Thread_local SharedShadow *shared_shadow;
extern _Thread_local uint32_t block_epoch;
extern _Thread_local uint64_t chance; /* for threads of a warp; begins with the launch's seed */

uint64_t random_below(uint64_t *state, uint64_t limit);
/* While COUNT_ACCESSES is on (accesses.c). */
void begin_counting(const Launch *launch);
void count_access(const Warp *w, const Launch *l, const uint64_t *address, uint32_t mask, uint32_t bytes, uint32_t kind, uint32_t space);
void count_block(const uint64_t *counts);
void end_counting(const uint64_t *counts);

void wrong(Launch *launch, const char *kind, const char *format, ...);
