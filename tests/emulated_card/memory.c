/* Device memory: a reserved range per card, from which the first gap that is large enough is handed out. */
#define _GNU_SOURCE
#include "driver.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, GRANULE = 256, RED_ZONE = 512, PATTERN_BYTES = 16 << 20, PATTERN = 0xA5 };

Memory memory_of[MOST_CARDS];

static uint64_t rounded(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

/* A file full of the pattern. Pages of it stand for memory that nobody has written: they cost nothing until then. */
static int pattern_file(void) {
  static int file = -1;
  if (file >= 0) return file;
  uint8_t *content;
  int made = memfd_create("emulated-card", MFD_CLOEXEC);
  if (made < 0 || ftruncate(made, PATTERN_BYTES)) return -1;
  content = mmap(NULL, PATTERN_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
  if (content == MAP_FAILED) return -1;
  memset(content, PATTERN, PATTERN_BYTES);
  munmap(content, PATTERN_BYTES);
  return file = made;
}

/* The range of a card, its size a multiple of PATTERN_BYTES, and its shadow. False where the system has no room. */
bool reserve_card(uint32_t card) {
  uint64_t bytes = cards[card].bytes;
  int file = pattern_file(), how = MAP_PRIVATE | MAP_NORESERVE;
  uint8_t *base = mmap(NULL, bytes, PROT_NONE, how | MAP_ANONYMOUS, -1, 0);
  uint8_t *written = mmap(NULL, bytes, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS, -1, 0);
  if (file < 0 || base == MAP_FAILED || written == MAP_FAILED) return false;
  for (uint64_t at = 0; at < bytes; at += PATTERN_BYTES)
    if (mmap(base + at, PATTERN_BYTES, PROT_READ | PROT_WRITE, how | MAP_FIXED, file, 0) == MAP_FAILED) return false;
  memory_of[card] = (Memory){.base = base, .size = bytes, .written = written};
  return true;
}

/* Bytes get the pattern again and count as never written. Whole pages go back to the system. */
static void forget(uint32_t card, uint64_t begin, uint64_t bytes) {
  Memory *memory = &memory_of[card];
  uint64_t first = rounded(begin, PAGE), end = (begin + bytes) / PAGE * PAGE;
  uint8_t *shadow = memory->written + (begin - (uint64_t)memory->base);
  if (first >= end) {
    memset((void *)begin, PATTERN, bytes);
    memset(shadow, 0, bytes);
    return;
  }
  memset((void *)begin, PATTERN, first - begin);
  memset((void *)end, PATTERN, begin + bytes - end);
  memset(shadow, 0, first - begin);
  memset(shadow + (end - begin), 0, begin + bytes - end);
  madvise((void *)first, end - first, MADV_DONTNEED);
  madvise(shadow + (first - begin), end - first, MADV_DONTNEED);
}

/* How many of the bytes have been written since they were handed out, for tests. */
uint64_t card_written(uint64_t address, uint64_t bytes) {
  int card = card_of(address);
  uint64_t number = 0;
  for (uint64_t i = 0; card >= 0 && i < bytes; i++)
    number += memory_of[card].written[address + i - (uint64_t)memory_of[card].base];
  return number;
}

int card_of(uint64_t address) {
  for (uint32_t card = 0; card < number_of_cards; card++)
    if (address - (uint64_t)memory_of[card].base < memory_of[card].size) return (int)card;
  return -1;
}

Allocation *allocation_at(uint64_t address) {
  int card = card_of(address);
  if (card < 0) return NULL;
  for (Allocation *each = cards[card].allocations; each && each->begin <= address; each = each->next)
    if (address - each->begin < each->bytes) return each;
  return NULL;
}

/* The link that a new allocation goes into, and where it begins; NULL where no gap is large enough. */
static Allocation **find_gap(uint32_t card, uint64_t bytes, uint64_t *begin) {
  Allocation **link = &cards[card].allocations;
  uint64_t at = (uint64_t)memory_of[card].base + GRANULE, end = (uint64_t)memory_of[card].base + memory_of[card].size;
  for (; *link; link = &(*link)->next) {
    if (at + bytes + RED_ZONE <= (*link)->begin) break;
    at = rounded((*link)->begin + (*link)->bytes + RED_ZONE, GRANULE);
  }
  *begin = at;
  return *link || at + bytes <= end ? link : NULL;
}

static uint64_t taken_by(uint64_t bytes) { return rounded(bytes + RED_ZONE, GRANULE); }

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  ENTER(IN_CONTEXT);
  if (!bytes) return INVALID_VALUE;
  uint32_t card = current_context()->card;
  if (bytes > cards[card].bytes) return OUT_OF_MEMORY;
  pthread_mutex_lock(&driver_lock);
  uint64_t begin;
  Allocation **link = find_gap(card, bytes, &begin), *made = link ? calloc(1, sizeof *made) : NULL;
  if (made) {
    *made = (Allocation){.next = *link, .begin = begin, .bytes = bytes};
    *link = made;
    cards[card].used += taken_by(bytes);
    *address = begin;
  }
  pthread_mutex_unlock(&driver_lock);
  count(ALLOCATIONS, made != NULL);
  return made ? SUCCESS : OUT_OF_MEMORY;
}

static void drop(uint32_t card, Allocation **link) {
  Allocation *gone = *link;
  *link = gone->next;
  cards[card].used -= taken_by(gone->bytes);
  forget(card, gone->begin, gone->bytes);
  free(gone->writers.of);
  free(gone->readers.of);
  free(gone);
}

/* Waits for the card, as the driver does, so that nothing on it works on what is given back. */
int cuMemFree_v2(uint64_t address) {
  ENTER(TO_FREE);
  int card = card_of(address);
  if (!address) return SUCCESS;
  pthread_mutex_lock(&driver_lock);
  if (card >= 0) wait_for_context(&contexts[card]);
  Allocation **link = card < 0 ? NULL : &cards[card].allocations;
  while (link && *link && (*link)->begin != address) link = &(*link)->next;
  bool is_known = link && *link;
  if (is_known) drop((uint32_t)card, link);
  pthread_mutex_unlock(&driver_lock);
  if (!is_known) finding("bad free", "%#lx is not the begin of an allocation", (unsigned long)address);
  count(FREES, is_known);
  return is_known ? SUCCESS : INVALID_VALUE;
}

void free_all(uint32_t card) {
  while (cards[card].allocations) drop(card, &cards[card].allocations);
}

int cuMemGetInfo_v2(size_t *left, size_t *total) {
  ENTER(IN_CONTEXT);
  Card *card = &cards[current_context()->card];
  pthread_mutex_lock(&driver_lock);
  *total = card->bytes;
  *left = card->used < card->bytes ? card->bytes - card->used : 0;
  pthread_mutex_unlock(&driver_lock);
  return SUCCESS;
}

int cuMemGetAddressRange_v2(uint64_t *begin, size_t *bytes, uint64_t address) {
  ENTER(IN_CONTEXT);
  pthread_mutex_lock(&driver_lock);
  Allocation *found = allocation_at(address);
  if (found && begin) *begin = found->begin;
  if (found && bytes) *bytes = found->bytes;
  pthread_mutex_unlock(&driver_lock);
  return found ? SUCCESS : INVALID_VALUE;
}

/* Whether bytes lie in one allocation of the current context's card. INVALID_VALUE, and a finding, where not. */
int check_access(const char *what, Access access) {
  int card = card_of(access.address), current = (int)current_context()->card;
  unsigned long address = access.address, bytes = access.bytes;
  if (card >= 0 && card != current) {
    finding("other card", "%s of card %d touches %#lx, which lies on card %d", what, current, address, card);
    return INVALID_VALUE;
  }
  pthread_mutex_lock(&driver_lock);
  Allocation *found = allocation_at(access.address);
  bool is_inside = found && bytes <= found->begin + found->bytes - address;
  pthread_mutex_unlock(&driver_lock);
  if (is_inside) return SUCCESS;
  finding("not allocated", "%s touches %lu bytes at %#lx, which lie in no allocation", what, bytes, address);
  return INVALID_VALUE;
}
