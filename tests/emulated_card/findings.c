/* What was found wrong, for Python to read, and the counts of what the card was asked for. */
#define _GNU_SOURCE
#include "driver.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1024, MOST_FOUND = 1000 };

uint32_t check_flags = CHECK_WRITTEN, check_seed = 0;
bool fails_on_finding = true;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *found[MOST_FOUND];
static uint32_t number_found;
static uint64_t counts[COUNTS];

/* More than MOST_FOUND are printed but not kept: a fault in a loop must not fill the memory. */
void finding(const char *kind, const char *format, ...) {
  char text[LINE], line[LINE + 64];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  snprintf(line, sizeof line, "%s: %s", kind, text);
  pthread_mutex_lock(&lock);
  fprintf(stderr, "emulated card: %s\n", line);
  if (number_found < MOST_FOUND) found[number_found++] = strdup(line);
  pthread_mutex_unlock(&lock);
}

/* The findings, one a line, as far as there is room; bytes written without the final zero. */
size_t card_findings(char *out, size_t room) {
  size_t used = 0;
  pthread_mutex_lock(&lock);
  for (uint32_t i = 0; i < number_found; i++) {
    size_t length = strlen(found[i]);
    if (used + length + 2 > room) break;
    memcpy(out + used, found[i], length);
    used += length;
    out[used++] = '\n';
  }
  pthread_mutex_unlock(&lock);
  out[used] = 0;
  return used;
}

void card_clear_findings(void) {
  pthread_mutex_lock(&lock);
  for (uint32_t i = 0; i < number_found; i++) free(found[i]);
  number_found = 0;
  pthread_mutex_unlock(&lock);
}

void card_set_checks(uint32_t flags, uint32_t seed, int fails) {
  check_flags = flags;
  check_seed = seed;
  fails_on_finding = fails != 0;
}

void count(Count what, uint64_t number) { __atomic_fetch_add(&counts[what], number, __ATOMIC_RELAXED); }

void card_counts(uint64_t *out) {
  for (int i = 0; i < COUNTS; i++) out[i] = __atomic_load_n(&counts[i], __ATOMIC_RELAXED);
}
