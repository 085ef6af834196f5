/* Runs a translated kernel: blocks one by one, their warps in turn, the paths of a warp's threads so that they meet again. */
#include "execute.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, MOST_TOLD = 3, GARBAGE = 0xA5 };

_Thread_local SharedShadow *shared_shadow;
_Thread_local uint32_t block_epoch;
_Thread_local uint64_t chance;
static pthread_mutex_t counters_lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t random_below(uint64_t *state, uint64_t limit) {
  *state = *state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
  return limit ? (*state >> 33) % limit : 0;
}

/* A finding of a launch, which fails for it. The first few are told. */
void wrong(Launch *launch, const char *kind, const char *format, ...) {
  if (launch->is_faulty++ >= MOST_TOLD) return;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  finding(kind, "%s: %s", launch->kernel->name, text);
}

static void add_path(Warp *w, uint32_t at, uint32_t mask, uint32_t state) {
  for (uint32_t i = 0; i < w->paths; i++)
    if (w->path[i].at == at && w->path[i].state == state) {
      w->path[i].mask |= mask;
      return;
    }
  w->path[w->paths++] = (Path){at, mask, state};
}

/* The path that runs next: the lowest, where threads that parted meet soonest; or any, when the order is random. */
static int next_path(const Warp *w, uint64_t *random) {
  int found = -1;
  uint32_t seen = 0;
  for (uint32_t i = 0; i < w->paths; i++) {
    if (w->path[i].state != READY) continue;
    seen++;
    if (found < 0 || (random ? random_below(random, seen) == 0 : w->path[i].at < w->path[found].at)) found = i;
  }
  return found;
}

/* Takes a path off the list, with those that wait where it is. */
static void take(Warp *w, int chosen, int is_random) {
  uint32_t kept = 0;
  w->at = w->path[chosen].at, w->mask = 0, w->nearest = UINT32_MAX;
  for (uint32_t i = 0; i < w->paths; i++) {
    Path path = w->path[i];
    if (path.at == w->at && path.state != AT_BARRIER) {
      w->mask |= path.mask;
      continue;
    }
    w->path[kept++] = path;
    if (path.state != AT_BARRIER && path.at < w->nearest) w->nearest = path.at;
  }
  if (is_random && w->nearest != UINT32_MAX) w->nearest = 0;
  w->paths = kept;
}

static void step(Warp *w, Launch *l) {
  l->kernel->step(w, l);
  switch (w->state) {
    case MOVED: add_path(w, w->at, w->mask, READY); break;
    case PARTED:
      add_path(w, w->at, w->mask, READY);
      add_path(w, w->other_at, w->other_mask, READY);
      break;
    case ENDED: w->alive &= ~w->mask; break;
    default: add_path(w, w->at, w->mask, w->state);
  }
}

/* Threads that wait for others try again; nonzero if there are any. */
static int wake(Warp *w) {
  int woken = 0;
  for (uint32_t i = 0; i < w->paths; i++)
    if (w->path[i].state == WAITING) w->path[i].state = READY, woken = 1;
  return woken;
}

static void tell_stuck(Warp *w, Launch *l) {
  for (uint32_t i = 0; i < w->paths; i++)
    if (w->path[i].state == WAITING) {
      wrong(l, "divergent", "threads %08x of warp %u in block %u wait for others of their warp at basic block %u; alive are %08x",
            w->path[i].mask, w->number, w->block_index[0], w->path[i].at, w->alive);
      return;
    }
}

/* Until all threads of the warp are at a barrier or gone. */
static void run_warp(Warp *w, Launch *l, uint64_t *random) {
  uint32_t ended = ~w->alive, waiting = 0;
  while (!l->is_faulty) {
    int chosen = next_path(w, random);
    if (chosen >= 0) {
      take(w, chosen, random != NULL);
      step(w, l);
      continue;
    }
    /* Nobody is ready: who waits in the warp gets another try if others have ended or joined since. */
    uint32_t now = 0;
    for (uint32_t i = 0; i < w->paths; i++)
      if (w->path[i].state == WAITING) now = now * 31 + w->path[i].mask;
    if (!now) break;
    if (now == waiting && ended == ~w->alive) {
      tell_stuck(w, l);
      break;
    }
    waiting = now, ended = ~w->alive;
    wake(w);
  }
}

/* All warps wait at the barrier or have ended: is it one barrier, with all threads? Then they go on. */
static void pass_barrier(Warp *warps, uint32_t number, const uint32_t *threads, Launch *l) {
  uint32_t at = UINT32_MAX;
  for (uint32_t i = 0; i < number && !l->is_faulty; i++) {
    Warp *w = &warps[i];
    if (w->alive != threads[i])
      wrong(l, "barrier", "threads %08x of warp %u in block %u are gone, others wait at a barrier", threads[i] & ~w->alive, i,
            w->block_index[0]);
    for (uint32_t p = 0; p < w->paths; p++) {
      if (at == UINT32_MAX) at = w->path[p].at;
      if (w->path[p].at != at)
        wrong(l, "barrier", "threads of block %u wait at different barriers, before basic blocks %u and %u", w->block_index[0], at,
              w->path[p].at);
      w->path[p].state = READY;
    }
  }
  block_epoch++;
}

static void run_block(Warp *warps, uint32_t number, const uint32_t *threads, Launch *l, uint64_t *random) {
  for (uint32_t i = 0; i < number; i++) {
    warps[i].alive = threads[i], warps[i].paths = 0;
    add_path(&warps[i], 0, threads[i], READY);
  }
  block_epoch++;
  for (;;) {
    uint32_t alive = 0, first = random ? random_below(random, number) : 0;
    for (uint32_t i = 0; i < number && !l->is_faulty; i++) {
      Warp *w = &warps[(first + i) % number];
      run_warp(w, l, random);
      alive |= w->alive;
    }
    if (!alive || l->is_faulty) return;
    pass_barrier(warps, number, threads, l);
  }
}

static uint64_t field(const Launch *l, uint32_t parameter) { return *(const uint64_t *)l->parameters[parameter]; }

/* The bytes that the arrays cover, from their shapes and strides. */
static void bound_arrays(Launch *l) {
  for (uint32_t i = 0; i < l->kernel->arrays; i++) {
    const Array *array = &l->kernel->array[i];
    uint64_t data = field(l, array->first + 4), items = field(l, array->first + 2), size = field(l, array->first + 3);
    l->low[i] = l->high[i] = data;
    if (!items) continue;
    l->high[i] += size;
    for (uint32_t axis = 0; axis < array->axes; axis++) {
      int64_t length = field(l, array->first + 5 + axis), stride = field(l, array->first + 5 + array->axes + axis);
      *(stride < 0 ? &l->low[i] : &l->high[i]) += (length - 1) * stride;
    }
    if (l->high[i] - l->low[i] > items * size) l->flags |= HAS_GAPS;
  }
}

/* Each thread's three coordinates, x running fastest; returns the threads of each warp. */
static void place_threads(Warp *warps, uint32_t number, uint32_t *threads, const Launch *l) {
  uint32_t all = l->block[0] * l->block[1] * l->block[2];
  for (uint32_t i = 0; i < number; i++) {
    uint32_t *index = (uint32_t *)warps[i].frame, here = all - i * WARP < WARP ? all - i * WARP : WARP;
    threads[i] = here == WARP ? UINT32_MAX : (1u << here) - 1;
    for (uint32_t lane = 0; lane < WARP; lane++) {
      uint32_t thread = i * WARP + lane;
      index[lane] = thread % l->block[0];
      index[WARP + lane] = thread / l->block[0] % l->block[1];
      index[2 * WARP + lane] = thread / l->block[0] / l->block[1];
    }
  }
}

static uint64_t common_divisor(uint64_t a, uint64_t b) { return b ? common_divisor(b, a % b) : a; }

/* Runs all blocks, in order or by a step that has no divisor in common with their number. */
static void run_grid(Warp *warps, uint32_t number, const uint32_t *threads, Launch *l) {
  uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2], random = l->seed * 2654435761u + l->number, stride = 1, first = 0;
  if (l->seed) {
    first = random_below(&random, blocks);
    do stride = 1 + random_below(&random, blocks);
    while (common_divisor(stride, blocks) != 1);
  }
  for (uint64_t i = 0; i < blocks && !l->is_faulty; i++) {
    uint64_t block = (first + i * stride) % blocks;
    for (uint32_t w = 0; w < number; w++) {
      warps[w].block_index[0] = block % l->grid[0];
      warps[w].block_index[1] = block / l->grid[0] % l->grid[1];
      warps[w].block_index[2] = block / l->grid[0] / l->grid[1];
    }
    memset(warps[0].shared, GARBAGE, warps[0].shared_size);
    run_block(warps, number, threads, l, l->seed ? &random : NULL);
    if (l->flags & COUNT_ACCESSES) count_block(warps[0].counts);
  }
}

static void add_counters(const Kernel *kernel, const uint64_t *counts) {
  pthread_mutex_lock(&counters_lock);
  for (uint32_t i = 0; i < 2 * kernel->blocks; i++) kernel->counters[i] += counts[i];
  pthread_mutex_unlock(&counters_lock);
}

static size_t padded(size_t bytes) { return (bytes + 127) / 128 * 128; }

int execute(Launch *l) {
  const Kernel *kernel = l->kernel;
  uint32_t number = (l->block[0] * l->block[1] * l->block[2] + WARP - 1) / WARP, threads[WARP];
  size_t shared = kernel->shared + l->dynamic_shared, local = (size_t)kernel->local * WARP, counts = 16 * (size_t)kernel->blocks;
  size_t of_warp = padded(kernel->frame) + padded(local), room = number * of_warp + padded(shared) + padded(counts);
  uint8_t *memory = aligned_alloc(128, padded(room));
  Warp *warps = calloc(number, sizeof *warps);
  shared_shadow = l->flags & CHECK_RACES ? calloc(shared + 1, sizeof *shared_shadow) : NULL;
  if (!memory || !warps) return INVALID_VALUE;
  memset(memory, GARBAGE, room);
  uint8_t *block = memory + number * of_warp;
  memset(block + padded(shared), 0, counts);
  for (uint32_t i = 0; i < number; i++) {
    warps[i].frame = memory + i * of_warp, warps[i].local = warps[i].frame + padded(kernel->frame);
    warps[i].shared = block, warps[i].shared_size = shared, warps[i].counts = (uint64_t *)(block + padded(shared));
    warps[i].number = i;
  }
  bound_arrays(l);
  if (l->seed) l->flags |= ANY_WINS, chance = l->seed;
  place_threads(warps, number, threads, l);
  if (l->flags & COUNT_ACCESSES) begin_counting(l);
  run_grid(warps, number, threads, l);
  if (l->flags & COUNT_ACCESSES) end_counting(warps[0].counts);
  add_counters(kernel, warps[0].counts);
  free(shared_shadow), free(warps), free(memory);
  return SUCCESS;
}
