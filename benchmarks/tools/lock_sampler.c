/* Of the calling thread's CPU time, the part in which it holds Python's lock: a timer on that time interrupts the thread,
 * and the handler asks. So neither waiting nor other processes count. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int (*holds_lock)(void); /* PyGILState_Check */
static volatile uint64_t samples, held;
static timer_t timer;

static void sample(int signal) {
  (void)signal;
  samples++;
  held += holds_lock() != 0;
}

/* Sample the calling thread each so many microseconds of its CPU time; 0 or -1. */
int start_sampling(int (*check)(void), long microseconds) {
  struct sigaction action = {.sa_handler = sample, .sa_flags = SA_RESTART};
  struct sigevent event;
  struct itimerspec every = {{0, microseconds * 1000}, {0, microseconds * 1000}};
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGPROF;
  event._sigev_un._tid = gettid();
  holds_lock = check;
  samples = held = 0;
  if (sigaction(SIGPROF, &action, NULL) || timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer)) return -1;
  return timer_settime(timer, 0, &every, NULL);
}

void stop_sampling(void) { timer_delete(timer); }

void read_samples(uint64_t *out) {
  out[0] = samples;
  out[1] = held;
}
