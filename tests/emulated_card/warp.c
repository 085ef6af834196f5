/* What threads of a warp do together, and atomics: called by translated kernels, with a vector of 64 bits for each operand. */
#include "execute.h"

enum { UP, DOWN, BUTTERFLY, INDEX };
enum { ADD, MAX, MIN, EXCHANGE, COMPARE, AND, OR, XOR, SIGNED = 16 };

/* shfl.sync (PTX ISA manual, 9.7.9.6). mode: the kind, above it the line of the PTX. Returns the threads within range. */
uint32_t card_shuffle(Warp *w, Launch *l, uint32_t mask, uint32_t mode, const uint64_t *value, const uint64_t *distance,
                      const uint64_t *clamp, uint64_t *out) {
  uint32_t within = 0;
  for (int lane = 0; lane < WARP; lane++) {
    int by = distance[lane] & 31, last = clamp[lane] & 31, segment = clamp[lane] >> 8 & 31;
    int limit = (lane & segment) | (last & ~segment), source = lane, is_within = 0;
    switch (mode & 3) {
      case UP: source = lane - by, is_within = source >= limit; break;
      case DOWN: source = lane + by, is_within = source <= limit; break;
      case BUTTERFLY: source = lane ^ by, is_within = source <= limit; break;
      case INDEX: source = (lane & segment) | (by & ~segment), is_within = source <= limit; break;
    }
    if (!is_within) source = lane;
    within |= (uint32_t)is_within << lane;
    out[lane] = value[source];
    if (mask >> lane & 1 && !(mask >> source & 1))
      wrong(l, "shuffle", "thread %u in block %u takes the value of thread %u, which is not there, at line %u of the PTX",
            w->number * WARP + lane, w->block_index[0], w->number * WARP + source, mode >> 2);
  }
  return within;
}

static int64_t combined(uint32_t code, int64_t a, int64_t b) {
  switch (code & 15) {
    case ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case MAX: return code & SIGNED ? (a > b ? a : b) : (int64_t)((uint64_t)a > (uint64_t)b ? a : b);
    case MIN: return code & SIGNED ? (a < b ? a : b) : (int64_t)((uint64_t)a < (uint64_t)b ? a : b);
    case EXCHANGE: return b;
    case AND: return a & b;
    case OR: return a | b;
    default: return a ^ b;
  }
}

/* redux.sync: for each thread over those of its own mask; values are extended to 64 bits as their type says. */
void card_reduce(uint32_t mask, uint32_t code, const uint64_t *value, const uint64_t *members, uint64_t *out) {
  for (int lane = 0; lane < WARP; lane++) {
    uint32_t others = mask & (uint32_t)members[lane];
    int first = others ? __builtin_ctz(others) : lane;
    int64_t made = (int64_t)value[first];
    for (int other = first + 1; other < WARP; other++)
      if (others >> other & 1) made = combined(code | SIGNED, made, (int64_t)value[other]);
    out[lane] = (uint64_t)made;
  }
}

#define ATOMIC_ON(type, wide)                                                                                  \
  do {                                                                                                         \
    type *there = (type *)address[lane], before = __atomic_load_n(there, __ATOMIC_SEQ_CST), after;             \
    do {                                                                                                       \
      after = (code & 15) == COMPARE ? (before == (type)operand[lane] ? (type)other[lane] : before)            \
                                     : (type)combined(code, (wide)before, (wide)(type)operand[lane]);          \
    } while (!__atomic_compare_exchange_n(there, &before, after, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));      \
    out[lane] = (uint64_t)before;                                                                              \
  } while (0)

/* atom and red, a thread after the other; in a random order they begin with any of them. */
void card_atomic(Launch *l, uint32_t mask, uint32_t code, uint32_t bits, const uint64_t *address, const uint64_t *operand,
                 const uint64_t *other, uint64_t *out) {
  int first = l->seed ? (int)random_below(&chance, WARP) : 0;
  for (int i = 0; i < WARP; i++) {
    int lane = (first + i) % WARP;
    if (!(mask >> lane & 1)) continue;
    if (bits == 32 && code & SIGNED) ATOMIC_ON(int32_t, int64_t);
    else if (bits == 32) ATOMIC_ON(uint32_t, uint64_t);
    else if (code & SIGNED) ATOMIC_ON(int64_t, int64_t);
    else ATOMIC_ON(uint64_t, uint64_t);
  }
}

void card_warp_barrier(Warp *w) { w->barriers++; }
