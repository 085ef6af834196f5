/* Pinned host memory. What is taken here lies between guard pages and is unmapped when freed: use after that is a fault. */
#define _GNU_SOURCE
#include "driver.h"
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

typedef struct Pinned Pinned;
struct Pinned {
  Pinned *next;
  uint64_t begin, bytes, mapped; /* mapped: bytes with the guard pages; 0 where the memory is the caller's */
  Uses uses;
};

static Pinned *all;

static Pinned **find(uint64_t address, uint64_t bytes) {
  Pinned **link = &all;
  while (*link && !(address >= (*link)->begin && address + bytes <= (*link)->begin + (*link)->bytes))
    link = &(*link)->next;
  return link;
}

static void add(void *begin, uint64_t bytes, uint64_t mapped) {
  Pinned *made = calloc(1, sizeof *made);
  pthread_mutex_lock(&driver_lock);
  *made = (Pinned){.next = all, .begin = (uint64_t)begin, .bytes = bytes, .mapped = mapped};
  all = made;
  pthread_mutex_unlock(&driver_lock);
  count(PINNED, 1);
}

int cuMemHostAlloc(void **address, size_t bytes, unsigned flags) {
  (void)flags;
  ENTER(IN_CONTEXT);
  if (!bytes) return INVALID_VALUE;
  uint64_t inside = (bytes + PAGE - 1) / PAGE * PAGE, mapped = inside + 2 * PAGE;
  uint8_t *base = mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED || mprotect(base + PAGE, inside, PROT_READ | PROT_WRITE)) return OUT_OF_MEMORY;
  *address = base + PAGE;
  add(*address, bytes, mapped);
  return SUCCESS;
}

int cuMemAllocHost_v2(void **address, size_t bytes) { return cuMemHostAlloc(address, bytes, 0); }

int cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags) {
  (void)flags;
  ENTER(IN_CONTEXT);
  if (!address || !bytes) return INVALID_VALUE;
  if (is_pinned(address, 1)) return 712; /* CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED */
  add(address, bytes, 0);
  return SUCCESS;
}

/* Takes the range that begins at an address out of the table; NULL where there is none. */
static Pinned *take(void *address, bool is_registered) {
  pthread_mutex_lock(&driver_lock);
  Pinned **link = find((uint64_t)address, 1), *found = *link;
  if (found && (found->begin != (uint64_t)address || !found->mapped != is_registered)) found = NULL;
  if (found) *link = found->next;
  pthread_mutex_unlock(&driver_lock);
  return found;
}

/* Gives a range back when no stream uses it any more; a host that has not waited for that is at fault. */
static int unpin(void *address, bool is_registered) {
  Pinned *gone = take(address, is_registered);
  if (!gone) {
    finding("bad free", "%p is not the begin of pinned memory", address);
    return INVALID_VALUE;
  }
  pthread_mutex_lock(&driver_lock);
  bool was_in_use = is_in_use(&gone->uses);
  if (was_in_use) wait_for_uses(&gone->uses);
  pthread_mutex_unlock(&driver_lock);
  if (was_in_use) finding("freed in use", "pinned memory at %p is given back while a stream copies it", address);
  if (gone->mapped) munmap((uint8_t *)address - PAGE, gone->mapped);
  free(gone->uses.of);
  free(gone);
  return SUCCESS;
}

int cuMemFreeHost(void *address) {
  ENTER(TO_FREE);
  return unpin(address, false);
}

int cuMemHostUnregister(void *address) {
  ENTER(TO_FREE);
  return unpin(address, true);
}

bool is_pinned(const void *address, uint64_t bytes) {
  pthread_mutex_lock(&driver_lock);
  bool is_it = *find((uint64_t)address, bytes) != NULL;
  pthread_mutex_unlock(&driver_lock);
  return is_it;
}

void note_pinned_use(const void *address, uint32_t stream, uint64_t ticket) {
  Pinned *pinned = *find((uint64_t)address, 1);
  if (pinned) note_use(&pinned->uses, stream, ticket);
}
