/* Errors on demand, and delays that let races between threads show. */
#define _GNU_SOURCE
#include "driver.h"
#include <string.h>
#include <unistd.h>

enum { MOST_FAULTS = 32 };

typedef struct {
  char function[64]; /* of the driver, without _v2; "launch": a kernel fails while it runs; "card": the card is lost */
  uint32_t left;     /* calls until it fails; 0: not in use */
  uint32_t card;
  int result;
} Fault;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Fault faults[MOST_FAULTS];
static uint32_t most_microseconds[3];
static uint64_t random_state = 1;

static int add(const char *function, uint32_t calls, uint32_t card, int result) {
  int code = OUT_OF_MEMORY;
  pthread_mutex_lock(&lock);
  for (uint32_t i = 0; i < MOST_FAULTS && code; i++) {
    if (faults[i].left) continue;
    faults[i] = (Fault){.left = calls, .card = card, .result = result};
    strncpy(faults[i].function, function, sizeof faults[i].function - 1);
    code = SUCCESS;
  }
  pthread_mutex_unlock(&lock);
  return code;
}

/* The result of the fault whose turn has come with this call; 0. */
static int take(const char *function, size_t length, uint32_t card) {
  int result = SUCCESS;
  pthread_mutex_lock(&lock);
  for (uint32_t i = 0; i < MOST_FAULTS; i++) {
    Fault *fault = &faults[i];
    bool is_it = fault->left && strlen(fault->function) == length && !strncmp(fault->function, function, length);
    if (is_it && fault->card == card && --fault->left == 0) result = fault->result;
  }
  pthread_mutex_unlock(&lock);
  return result;
}

/* From now on the calls-th call of a function of the driver gives the result. "launch": the calls-th kernel fails. */
int card_fail(const char *function, uint32_t calls, int result) { return add(function, calls, 0, result); }

/* The card is lost with the launches-th launch on it from now, for good; 0: at once. */
int card_lose(uint32_t card, uint32_t launches, int result) {
  if (card >= number_of_cards) return INVALID_DEVICE;
  if (launches) return add("card", launches, card, result);
  __atomic_store_n(&cards[card].lost, result, __ATOMIC_RELEASE);
  return SUCCESS;
}

/* Loading, launching and copying each take up to so many microseconds longer. */
void card_set_delays(uint32_t load, uint32_t launch, uint32_t copy, uint32_t seed) {
  pthread_mutex_lock(&lock);
  most_microseconds[LOADING] = load;
  most_microseconds[LAUNCHING] = launch;
  most_microseconds[COPYING] = copy;
  random_state = seed + 1;
  pthread_mutex_unlock(&lock);
}

/* No fault is left, and contexts that failed are whole again, which on a card takes a new process. */
void card_clear_faults(void) {
  pthread_mutex_lock(&lock);
  memset(faults, 0, sizeof faults);
  pthread_mutex_unlock(&lock);
  for (uint32_t card = 0; card < MOST_CARDS; card++) {
    __atomic_store_n(&cards[card].lost, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&contexts[card].error, 0, __ATOMIC_RELEASE);
  }
}

int fault_in(const char *function) {
  size_t length = strlen(function);
  if (length > 3 && !strncmp(function + length - 3, "_v2", 3)) length -= 3;
  return take(function, length, 0);
}

int fault_of_launch(uint32_t card) {
  int lost = take("card", 4, card);
  if (lost) __atomic_store_n(&cards[card].lost, lost, __ATOMIC_RELEASE);
  return lost ? lost : take("launch", 6, 0);
}

/* splitmix64 (Steele, Lea and Flood 2014) */
static uint64_t next_random(void) {
  uint64_t x = random_state += 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

void take_time(Work work) {
  pthread_mutex_lock(&lock);
  uint32_t most = most_microseconds[work];
  uint64_t microseconds = most ? next_random() % (most + 1u) : 0;
  pthread_mutex_unlock(&lock);
  if (microseconds) usleep((useconds_t)microseconds);
}
