/* Kernels that cost nothing: what copies down bring is kept once, and when the same work is asked for again it is brought
 * again, while nothing runs. So the host can be timed alone. One stream at a time is at work. */
#include "driver.h"
#include <stdlib.h>
#include <string.h>

typedef struct Kept Kept;
struct Kept {
  Kept *next;
  uint64_t bytes;
  uint8_t of[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Replay replay;
static Kept *first, *coming; /* of what was kept, and what is brought next */

static void forget(void) {
  for (Kept *next; first; first = next) {
    next = first->next;
    free(first);
  }
}

/* KEEPING forgets what was kept before; REPEATING begins with the first copy. */
void card_set_replay(Replay mode) {
  pthread_mutex_lock(&lock);
  if (mode == KEEPING) forget();
  coming = mode == REPEATING ? first : NULL;
  __atomic_store_n(&replay, mode, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&lock);
}

bool is_repeating(void) { return __atomic_load_n(&replay, __ATOMIC_ACQUIRE) == REPEATING; }

static void keep(const uint8_t *from, uint64_t bytes) {
  Kept *made = malloc(sizeof *made + bytes);
  *made = (Kept){.bytes = bytes};
  memcpy(made->of, from, bytes);
  if (coming) coming->next = made;
  else first = made;
  coming = made; /* while keeping, the last one */
}

static int repeat(uint8_t *to, uint64_t bytes) {
  if (!coming || coming->bytes != bytes) {
    finding("replay", "a copy of %lu bytes from the card is not what was kept", (unsigned long)bytes);
    return LAUNCH_FAILED;
  }
  memcpy(to, coming->of, bytes);
  coming = coming->next;
  return SUCCESS;
}

/* Brings bytes of the card to the host. */
int bring(uint8_t *to, const uint8_t *from, uint64_t bytes) {
  int result = SUCCESS;
  pthread_mutex_lock(&lock);
  if (replay == REPEATING) result = repeat(to, bytes);
  else memcpy(to, from, bytes);
  if (replay == KEEPING) keep(from, bytes);
  pthread_mutex_unlock(&lock);
  return result;
}
