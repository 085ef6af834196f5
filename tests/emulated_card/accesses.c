/* What a launch asks of memory, counted while COUNT_ACCESSES is on: sectors, passes through shared memory, executions.

A sector is 32 bytes; a warp's access touches as many as its threads' bytes lie in. Shared memory has 32 banks of 4 bytes:
an access passes through it as often as the fullest bank has different words; one of 8 or 16 bytes a thread is made in
halves or quarters of a warp (CUDA C++ Programming Guide, "Shared Memory" of each compute capability). */
#include "execute.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SECTOR = 32, LINE = 128, BANKS = 32, BANK = 4 };

/* Global memory by kind (READ, WRITE, ATOMIC); Python's twin is in counted.py. */
typedef struct {
  uint64_t requests, threads; /* accesses of warps, and of their threads */
  uint64_t lines, sectors;      /* of 128 and 32 bytes, summed over requests */
  uint64_t of_blocks, of_launch; /* sectors that the block, the launch touches for the first time */
} Traffic;

typedef struct {
  const Kernel *kernel;
  uint32_t grid[3], block[3], dynamic_shared, card;
  uint64_t number;
  Traffic global[3];
  uint64_t shared_requests, shared_passes, shared_least; /* passes if no bank had two words */
  uint64_t local_requests, local_sectors;
  uint64_t *counts, *slowest; /* executions as in Kernel, of the launch and of the block that has most of them */
} Counted;

static _Thread_local Counted now;
static _Thread_local uint64_t *before;
static Counted *counted;
static uint64_t number_counted, room_counted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Per sector of a card: launch and block that touched it last. */
typedef struct {
  uint32_t launch, block;
} SectorShadow;

/* Reserved beside the card's memory, and given pages where it is touched. */
static SectorShadow *sector_shadow(uint32_t card, uint64_t address) {
  static SectorShadow *shadows[MOST_CARDS];
  const Memory *memory = &memory_of[card];
  pthread_mutex_lock(&lock);
  if (!shadows[card]) {
    shadows[card] = mmap(NULL, memory->size / SECTOR * sizeof(SectorShadow), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (shadows[card] == MAP_FAILED) abort();
  }
  pthread_mutex_unlock(&lock);
  return shadows[card] + (address - (uint64_t)memory->base) / SECTOR;
}

/* Adds a number to the first `known` of a list, unless it is there. */
static uint32_t with(uint64_t *list, uint32_t known, uint64_t number) {
  for (uint32_t i = 0; i < known; i++)
    if (list[i] == number) return known;
  list[known] = number;
  return known + 1;
}

static void count_global(const Warp *w, const Launch *l, const uint64_t *address, uint32_t mask, uint32_t kind) {
  Traffic *traffic = &now.global[kind];
  uint64_t touched[WARP], lines_touched[WARP];
  uint32_t sectors = 0, lines = 0, block = 1 + w->block_index[0] + l->grid[0] * (w->block_index[1] + l->grid[1] * w->block_index[2]);
  for (int lane = 0; lane < WARP; lane++)
    if (mask >> lane & 1) { /* aligned: never in two */
      sectors = with(touched, sectors, address[lane] / SECTOR);
      lines = with(lines_touched, lines, address[lane] / LINE);
    }
  for (uint32_t i = 0; i < sectors; i++) {
    SectorShadow *s = sector_shadow(l->card, touched[i] * SECTOR);
    traffic->of_launch += s->launch != (uint32_t)l->number;
    traffic->of_blocks += s->launch != (uint32_t)l->number || s->block != block;
    *s = (SectorShadow){(uint32_t)l->number, block};
  }
  traffic->requests++, traffic->threads += (uint32_t)__builtin_popcount(mask), traffic->lines += lines, traffic->sectors += sectors;
}

/* Passes of some threads: different words in the fullest bank; atomics at one word wait for each other too. */
static uint32_t passes(const uint64_t *address, uint32_t mask, uint32_t bytes, int is_atomic) {
  uint64_t words[BANKS][WARP];
  uint32_t found[BANKS] = {0}, most = 0;
  for (int lane = 0; lane < WARP; lane++)
    for (uint32_t part = 0; part < (bytes + BANK - 1) / BANK && mask >> lane & 1; part++) {
      uint64_t word = address[lane] / BANK + part;
      uint32_t *here = &found[word % BANKS];
      if (is_atomic) (*here)++;
      else *here = with(words[word % BANKS], *here, word);
      if (*here > most) most = *here;
    }
  return most;
}

static void count_shared(const uint64_t *address, uint32_t mask, uint32_t bytes, uint32_t kind) {
  uint32_t parts = bytes > 8 ? 4 : bytes > 4 ? 2 : 1, width = WARP / parts;
  now.shared_requests++;
  for (uint32_t part = 0; part < parts; part++) {
    uint32_t here = mask & (uint32_t)(((1ull << width) - 1) << (part * width));
    now.shared_passes += passes(address, here, bytes, kind == ATOMIC);
    now.shared_least += here != 0;
  }
}

void count_access(const Warp *w, const Launch *l, const uint64_t *address, uint32_t mask, uint32_t bytes, uint32_t kind,
                  uint32_t space) {
  if (!mask) return;
  if (space == GLOBAL) count_global(w, l, address, mask, kind);
  else if (space == SHARED) count_shared(address, mask, bytes, kind);
  else if (space == LOCAL) now.local_requests++, now.local_sectors += ((uint32_t)__builtin_popcount(mask) * bytes + SECTOR - 1) / SECTOR;
}

void begin_counting(const Launch *l) {
  size_t bytes = 16 * (size_t)l->kernel->blocks;
  now = (Counted){.kernel = l->kernel, .dynamic_shared = l->dynamic_shared, .card = l->card, .number = l->number};
  memcpy(now.grid, l->grid, sizeof now.grid);
  memcpy(now.block, l->block, sizeof now.block);
  now.counts = calloc(1, bytes), now.slowest = calloc(1, bytes), before = calloc(1, bytes);
  if (!now.counts || !now.slowest || !before) abort();
}

/* Behind each block: `counts` are those of the launch so far. */
void count_block(const uint64_t *counts) {
  uint32_t blocks = now.kernel->blocks;
  uint64_t here = 0, most = 0;
  for (uint32_t i = 0; i < blocks; i++) here += counts[2 * i] - before[2 * i], most += now.slowest[2 * i];
  for (uint32_t i = 0; i < 2 * blocks && here > most; i++) now.slowest[i] = counts[i] - before[i];
  memcpy(before, counts, 16 * (size_t)blocks);
}

void end_counting(const uint64_t *counts) {
  memcpy(now.counts, counts, 16 * (size_t)now.kernel->blocks);
  free(before);
  pthread_mutex_lock(&lock);
  if (number_counted == room_counted) counted = realloc(counted, (room_counted = 2 * room_counted + 64) * sizeof *counted);
  if (!counted) abort();
  counted[number_counted++] = now;
  pthread_mutex_unlock(&lock);
}

/* The launches counted since this was called last, up to `most`: `out` gets them, and the caller their arrays. */
uint64_t card_take_counted(Counted *out, uint64_t most) {
  pthread_mutex_lock(&lock);
  uint64_t number = number_counted < most ? number_counted : most;
  if (number) memcpy(out, counted, number * sizeof *counted);
  if (number) memmove(counted, counted + number, (number_counted - number) * sizeof *counted);
  number_counted -= number;
  pthread_mutex_unlock(&lock);
  return number;
}

void card_free_counted(Counted *of) { free(of->counts), free(of->slowest); }
