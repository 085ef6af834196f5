/* Accesses to memory held against bounds, against what was ever written, and against those of other threads and blocks. */
#include "execute.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE_BITS = 24, MANY_OF = 1 << 16 };
static const uint32_t MANY = UINT32_MAX;
static const char *const KINDS[] = {"read", "write", "atomic"};

typedef struct {
  Warp *warp;
  Launch *launch;
  uint32_t line, kind, bytes, space;
  int32_t array;
} Access;

static uint32_t thread_of(const Access *a, int lane) { return a->warp->number * WARP + (uint32_t)lane; }

static uint64_t block_of(const Access *a) {
  const Launch *l = a->launch;
  const uint32_t *b = a->warp->block_index;
  return b[0] + (uint64_t)l->grid[0] * (b[1] + (uint64_t)l->grid[1] * b[2]);
}

static void tell_place(const Access *a, int lane, uint64_t address) {
  const Launch *l = a->launch;
  int is_misaligned = address % a->bytes != 0;
  if (a->array >= 0)
    wrong(a->launch, is_misaligned ? "misaligned" : "bounds",
          "%s of %u bytes at byte %lld of array %d, which has %llu, by thread %u of block %llu, line %u of the PTX", KINDS[a->kind],
          a->bytes, (long long)(address - l->low[a->array]), a->array, (unsigned long long)(l->high[a->array] - l->low[a->array]),
          thread_of(a, lane), (unsigned long long)block_of(a), a->line);
  else
    wrong(a->launch, is_misaligned ? "misaligned" : "bounds", "%s of %u bytes beyond an array in %s memory, by thread %u of block %llu, line %u of the PTX",
          KINDS[a->kind], a->bytes, a->space == SHARED ? "shared" : a->space == LOCAL ? "local" : "constant", thread_of(a, lane), (unsigned long long)block_of(a), a->line);
}

void mark_written(uint64_t address, uint64_t bytes, int is_written) {
  for (uint32_t card = 0; card < MOST_CARDS; card++) {
    uint64_t offset = address - (uint64_t)memory_of[card].base;
    if (memory_of[card].base && offset < memory_of[card].size) memset(memory_of[card].written + offset, is_written, bytes);
  }
}

/* Global memory: a byte that no copy, memset or kernel wrote since it was handed out. */
static int check_written(const Access *a, int lane, uint64_t address) {
  const Memory *memory = &memory_of[a->launch->card];
  uint8_t *marks = memory->written + (address - (uint64_t)memory->base);
  if (a->kind == WRITE) {
    memset(marks, 1, a->bytes);
    return 1;
  }
  if (!memchr(marks, 0, a->bytes)) return 1;
  wrong(a->launch, "never written", "%s of %u bytes at byte %lld of array %d, which were never written, by thread %u of block %llu, line %u of the PTX",
        KINDS[a->kind], a->bytes, (long long)(address - a->launch->low[a->array]), a->array, thread_of(a, lane),
        (unsigned long long)block_of(a), a->line);
  return 0;
}

static int is_own(const Access *a, uint32_t who, uint32_t warp_epoch, uint32_t thread) {
  if (who == thread + 1) return 1;
  uint32_t warp = who & MANY_OF ? who & (MANY_OF - 1) : (who - 1) / WARP;
  return who != MANY && warp == a->warp->number && warp_epoch < a->warp->barriers; /* behind a barrier of the warp */
}

/* Shared memory: two threads at one byte, one of them writing, and no barrier between them. */
static int check_shared(const Access *a, int lane, uint64_t address) {
  uint32_t thread = thread_of(a, lane), other = 0;
  for (uint32_t i = 0; i < a->bytes; i++) {
    SharedShadow *s = &shared_shadow[address - (uint64_t)a->warp->shared + i];
    int is_read = s->read_epoch == block_epoch && s->reader, is_written = s->write_epoch == block_epoch && s->writer;
    int is_atomic = a->kind == ATOMIC && (!is_written || s->writer & 0x80000000u);
    if (is_written && !is_atomic && !is_own(a, s->writer & 0x7FFFFFFF, s->write_warp_epoch, thread)) other = s->writer & 0x7FFFFFFF;
    if (a->kind != READ && is_read && !is_own(a, s->reader, s->read_warp_epoch, thread)) other = s->reader;
    if (a->kind == READ) {
      uint32_t many = MANY_OF | a->warp->number;
      int is_same = !is_read || s->reader == thread + 1;
      int is_near = is_read && (s->reader == many || (!(s->reader & MANY_OF) && (s->reader - 1) / WARP == a->warp->number));
      s->reader = is_same ? thread + 1 : is_near ? many : MANY;
      s->read_epoch = block_epoch, s->read_warp_epoch = a->warp->barriers;
    } else {
      s->writer = (thread + 1) | (is_atomic ? 0x80000000u : 0);
      s->write_epoch = block_epoch, s->write_warp_epoch = a->warp->barriers;
    }
  }
  if (!other) return 1;
  wrong(a->launch, "race", "%s of shared byte %llu by thread %u of block %llu meets thread %u, with no barrier between them, line %u of the PTX",
        KINDS[a->kind], (unsigned long long)(address - (uint64_t)a->warp->shared), thread, (unsigned long long)block_of(a),
        other & MANY_OF || other == MANY ? UINT32_MAX : other - 1, a->line);
  return 0;
}

/* Shadow of a byte of global memory within one launch; stamped with it, so that it need not be cleared. */
typedef struct {
  uint64_t writer, reader; /* launch << 40 | block + 1, ANY_BLOCK for several, the top bit for atomics */
} GlobalShadow;
enum { BLOCK_BITS = 40 };
#define ANY_BLOCK ((1ull << BLOCK_BITS) - 1)
#define ATOMICALLY (1ull << 63)

/* Reserved beside the card's memory when it is first needed, and given pages by the system where it is touched. */
static GlobalShadow *global_shadow(uint32_t card, uint64_t offset) {
  static GlobalShadow *shadows[MOST_CARDS];
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  if (!__atomic_load_n(&shadows[card], __ATOMIC_ACQUIRE)) {
    pthread_mutex_lock(&lock);
    if (!shadows[card]) {
      void *made = mmap(NULL, memory_of[card].size * sizeof(GlobalShadow), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (made == MAP_FAILED) abort();
      __atomic_store_n(&shadows[card], made, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
  }
  return shadows[card] + offset;
}

static uint64_t of_this_launch(uint64_t stamp, uint64_t launch) {
  return (stamp & ~ATOMICALLY) >> BLOCK_BITS == (launch & 0x7FFFFF) ? stamp & ANY_BLOCK : 0;
}

/* Global memory: two blocks of a launch at one byte, one of them writing, not both by atomics. */
static int check_blocks(const Access *a, int lane, uint64_t address) {
  uint64_t mine = block_of(a) + 1, launch = a->launch->number, other = 0, stamp = (launch & 0x7FFFFF) << BLOCK_BITS;
  for (uint32_t i = 0; i < a->bytes; i++) {
    GlobalShadow *s = global_shadow(a->launch->card, address + i - (uint64_t)memory_of[a->launch->card].base);
    uint64_t writer = of_this_launch(s->writer, launch), reader = of_this_launch(s->reader, launch);
    int is_atomic = a->kind == ATOMIC && (!writer || s->writer & ATOMICALLY);
    if (writer && writer != mine && !is_atomic) other = writer;
    if (a->kind != READ && reader && reader != mine) other = reader;
    if (a->kind == READ) s->reader = stamp | (reader && reader != mine ? ANY_BLOCK : mine);
    else s->writer = stamp | (writer && writer != mine ? ANY_BLOCK : mine) | (is_atomic ? ATOMICALLY : 0);
  }
  if (!other) return 1;
  wrong(a->launch, "race", "%s of byte %lld of array %d by thread %u of block %llu meets block %lld of the same launch, line %u of the PTX",
        KINDS[a->kind], (long long)(address - a->launch->low[a->array]), a->array, thread_of(a, lane), (unsigned long long)mine - 1,
        other == ANY_BLOCK ? -1ll : (long long)other - 1, a->line);
  return 0;
}

static uint64_t field(const Launch *l, uint32_t parameter) { return *(const uint64_t *)l->parameters[parameter]; }

/* Whether a byte of an array, from its lowest, lies in one of its items: the longest strides are taken off first. */
static int is_in_item(const Launch *l, int32_t array, uint64_t offset) {
  const Array *a = &l->kernel->array[array];
  uint64_t before = UINT64_MAX;
  for (uint32_t done = 0; done < a->axes; done++) {
    uint64_t longest = 0, length = 1;
    for (uint32_t axis = 0; axis < a->axes; axis++) {
      int64_t stride = (int64_t)field(l, a->first + 5 + a->axes + axis);
      uint64_t size = (uint64_t)(stride < 0 ? -stride : stride);
      uint64_t items = field(l, a->first + 5 + axis);
      if (size < before && (size > longest || (size == longest && items > length))) longest = size, length = items;
    }
    if (!longest) break;
    uint64_t steps = offset / longest;
    offset -= (steps < length ? steps : length - 1) * longest, before = longest;
  }
  return offset < field(l, a->first + 3);
}

static int is_in_items(const Access *a, uint64_t address) {
  for (uint32_t i = 0; i < a->bytes; i++)
    if (!is_in_item(a->launch, a->array, address + i - a->launch->low[a->array])) return 0;
  return 1;
}

/* Of the threads that write to one place at once a random one wins: the mask without the others. */
static uint32_t winners(const uint64_t *address, uint32_t mask) {
  uint32_t first = (uint32_t)random_below(&chance, WARP), kept = 0;
  for (uint32_t i = 0; i < WARP; i++) {
    uint32_t lane = (first + i) % WARP, is_taken = 0;
    if (!(mask >> lane & 1)) continue;
    for (uint32_t other = 0; other < WARP; other++) is_taken |= (kept >> other & 1) && address[other] == address[lane];
    kept |= (uint32_t)!is_taken << lane;
  }
  return kept;
}

/* An access that is odd, or any while checks are on. told: line, kind and bytes. Returns the threads that may go on. */
uint32_t card_access(Warp *w, Launch *l, const uint64_t *address, uint32_t mask, uint32_t bad, uint32_t told, int32_t array,
                     uint32_t space) {
  Access a = {w, l, told & ((1u << LINE_BITS) - 1), told >> LINE_BITS & 3, told >> (LINE_BITS + 2), space, array};
  uint32_t allowed = mask & ~bad;
  for (int lane = 0; lane < WARP; lane++) {
    if (array >= 0 && l->flags & HAS_GAPS && allowed >> lane & 1 && !is_in_items(&a, address[lane])) bad |= 1u << lane, allowed &= ~bad;
    if (bad >> lane & 1) tell_place(&a, lane, address[lane]);
    if (!(allowed >> lane & 1)) continue;
    if (space == GLOBAL && l->flags & CHECK_WRITTEN) check_written(&a, lane, address[lane]);
    if (space == GLOBAL && l->flags & CHECK_RACES) check_blocks(&a, lane, address[lane]);
    if (space == SHARED && l->flags & CHECK_RACES) check_shared(&a, lane, address[lane]);
  }
  if (l->flags & COUNT_ACCESSES) count_access(w, l, address, allowed, a.bytes, a.kind, space);
  return l->flags & ANY_WINS && a.kind == WRITE ? winners(address, allowed) : allowed;
}
