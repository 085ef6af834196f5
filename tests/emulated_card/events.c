/* Events: a place on a stream, what comes before it, and when it was reached. */
#define _GNU_SOURCE
#include "driver.h"
#include <stdlib.h>
#include <time.h>

struct Event {
  Context *context;
  uint32_t flags, references; /* the caller's, and one of each operation that has yet to set the time */
  Clock clock;                /* where it was recorded last; all zero before that */
  Stream *stream;             /* NULL before that */
  uint64_t ticket;
  double milliseconds;
};

void release_event(Event *event) {
  if (--event->references == 0) free(event);
}

/* The event is where the stream is now. An event that is destroyed lives on until its operation has been run. */
void place_event(Event *event, Stream *stream) {
  event->references++;
  event->stream = stream;
  event->ticket = stream->issued;
  event->clock = stream->clock;
}

static int take_event_time(Operation *operation) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  operation->event->milliseconds = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
  return SUCCESS;
}

int cuEventCreate(Event **out, unsigned flags) {
  ENTER(IN_CONTEXT);
  *out = calloc(1, sizeof **out);
  **out = (Event){.context = current_context(), .flags = flags, .references = 1};
  return SUCCESS;
}

int cuEventDestroy_v2(Event *event) {
  ENTER(TO_FREE);
  if (!event) return INVALID_HANDLE;
  pthread_mutex_lock(&driver_lock);
  release_event(event);
  pthread_mutex_unlock(&driver_lock);
  return SUCCESS;
}

int cuEventRecord(Event *event, void *handle) {
  ENTER(IN_CONTEXT);
  Stream *stream = stream_of(handle);
  if (!event || !stream || event->context != stream->context) return INVALID_HANDLE;
  Operation *operation = new_operation(take_event_time);
  operation->event = event;
  submit(stream, operation, NULL, 0);
  return SUCCESS;
}

int cuEventRecordWithFlags(Event *event, void *handle, unsigned flags) {
  (void)flags;
  return cuEventRecord(event, handle);
}

static bool is_done(const Event *event) { return !event->stream || event->stream->completed >= event->ticket; }

int cuEventQuery(Event *event) {
  ENTER(IN_CONTEXT);
  if (!event) return INVALID_HANDLE;
  pthread_mutex_lock(&driver_lock);
  bool is_reached = is_done(event);
  if (is_reached) join(&host_clock, &event->clock);
  pthread_mutex_unlock(&driver_lock);
  return is_reached ? SUCCESS : NOT_READY;
}

int cuEventSynchronize(Event *event) {
  ENTER(IN_CONTEXT);
  if (!event) return INVALID_HANDLE;
  pthread_mutex_lock(&driver_lock);
  Clock needed = event->clock;
  wait_until(&needed);
  pthread_mutex_unlock(&driver_lock);
  return error_of(event->context);
}

/* cuStreamWaitEvent waits for the event as it was recorded last when it is called. */
int cuStreamWaitEvent(void *handle, Event *event, unsigned flags) {
  (void)flags;
  ENTER(IN_CONTEXT);
  Stream *stream = stream_of(handle);
  if (!stream || !event) return INVALID_HANDLE;
  pthread_mutex_lock(&driver_lock);
  join(&stream->clock, &event->clock);
  pthread_mutex_unlock(&driver_lock);
  return SUCCESS;
}

int cuEventElapsedTime_v2(float *milliseconds, Event *begin, Event *end) {
  ENTER(IN_CONTEXT);
  if (!begin || !end || (begin->flags | end->flags) & DISABLE_TIMING) return INVALID_HANDLE;
  pthread_mutex_lock(&driver_lock);
  bool are_recorded = begin->stream && end->stream, are_done = is_done(begin) && is_done(end);
  if (are_recorded && are_done) *milliseconds = (float)(end->milliseconds - begin->milliseconds);
  pthread_mutex_unlock(&driver_lock);
  return !are_recorded ? INVALID_HANDLE : are_done ? SUCCESS : NOT_READY;
}

int cuEventElapsedTime(float *milliseconds, Event *begin, Event *end) {
  return cuEventElapsedTime_v2(milliseconds, begin, end);
}
