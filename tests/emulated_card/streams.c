/* Streams: each a queue with a thread of its own, so that they really run apart and a missing wait gives old bytes. */
#include "driver.h"
#include <stdlib.h>

Stream *streams[MOST_STREAMS];
uint32_t number_of_streams;

static pthread_cond_t something_done = PTHREAD_COND_INITIALIZER;
static bool is_stopped;
static __thread Stream *of_thread[MOST_CARDS]; /* CU_STREAM_PER_THREAD */

bool is_reached(const Clock *needed, uint32_t except) {
  for (uint32_t i = 0; i < number_of_streams; i++)
    if (i != except && streams[i]->completed < needed->ticket[i]) return false;
  return true;
}

static int run(Operation *operation) {
  int error = error_of(operation->stream->context);
  if (__atomic_load_n(&is_stopped, __ATOMIC_ACQUIRE)) return SUCCESS;
  return error ? error : operation->run(operation);
}

/* Nothing runs from here on: operations end without having been done. For the end of the process, before what kernels
 * and callbacks need goes away. Returns when the last one that runs has ended. */
void card_stop(void) {
  __atomic_store_n(&is_stopped, true, __ATOMIC_RELEASE);
  pthread_mutex_lock(&driver_lock);
  for (uint32_t i = 0; i < number_of_streams; i++)
    while (streams[i]->completed < streams[i]->issued) pthread_cond_wait(&something_done, &driver_lock);
  pthread_mutex_unlock(&driver_lock);
}

static void dispose(Operation *operation) {
  if (operation->event) release_event(operation->event);
  free(operation->staged);
  free(operation);
}

/* Takes operations off its queue in turn. It has no end: streams are kept. */
static void *work(void *argument) {
  Stream *stream = argument;
  pthread_mutex_lock(&driver_lock);
  for (;;) {
    while (!stream->first) pthread_cond_wait(&stream->has_work, &driver_lock);
    Operation *operation = stream->first;
    while (!is_reached(&operation->clock, stream->number)) pthread_cond_wait(&something_done, &driver_lock);
    pthread_mutex_unlock(&driver_lock);
    int error = run(operation);
    pthread_mutex_lock(&driver_lock);
    if (error && !stream->context->error) __atomic_store_n(&stream->context->error, error, __ATOMIC_RELEASE);
    stream->first = operation->next;
    if (!stream->first) stream->last = NULL;
    stream->completed = operation->ticket;
    dispose(operation);
    pthread_cond_broadcast(&something_done);
  }
  return NULL;
}

static Stream *idle_stream(void) {
  for (uint32_t i = 0; i < number_of_streams; i++)
    if (!streams[i]->is_open && streams[i]->completed == streams[i]->issued) return streams[i];
  return NULL;
}

static Stream *make_stream(void) {
  if (number_of_streams == MOST_STREAMS) return NULL;
  Stream *made = calloc(1, sizeof *made);
  made->number = number_of_streams;
  pthread_cond_init(&made->has_work, NULL);
  streams[number_of_streams++] = made;
  if (pthread_create(&made->worker, NULL, work, made)) return NULL;
  pthread_detach(made->worker);
  return made;
}

Stream *open_stream(Context *context, uint32_t flags) {
  Stream *stream = idle_stream();
  if (!stream) stream = make_stream();
  if (!stream) return NULL;
  stream->context = context;
  stream->flags = flags;
  stream->is_open = true;
  return stream;
}

/* The stream of the calling thread stays open for good, for no handle of it is ever destroyed. */
static Stream *default_stream(Context *context, bool is_of_thread) {
  Stream **place = is_of_thread ? &of_thread[context->card] : &context->legacy;
  if (!*place) *place = open_stream(context, 0);
  if (*place) (*place)->is_default = true;
  return *place;
}

static Stream *created_stream(const Context *context, const void *handle) {
  for (uint32_t i = 0; i < number_of_streams; i++)
    if (streams[i] == handle && streams[i]->is_open && streams[i]->context == context) return streams[i];
  return NULL;
}

/* Handles 0 and 1 are the default stream, 2 the calling thread's own; others are streams of the current context. */
Stream *stream_of(void *handle) {
  Context *context = current_context();
  pthread_mutex_lock(&driver_lock);
  bool is_default = (uintptr_t)handle <= 2;
  Stream *stream = is_default ? default_stream(context, (uintptr_t)handle == 2) : created_stream(context, handle);
  pthread_mutex_unlock(&driver_lock);
  return stream;
}

Operation *new_operation(int (*run)(Operation *)) {
  Operation *made = calloc(1, sizeof *made);
  made->run = run;
  return made;
}

/* Puts an operation at the end of a stream and gives its ticket; it is the worker's from here on. */
uint64_t submit(Stream *stream, Operation *operation, const Access *accesses, uint32_t number) {
  pthread_mutex_lock(&driver_lock);
  advance(stream);
  uint64_t ticket = operation->ticket = stream->issued;
  operation->stream = stream;
  operation->clock = stream->clock;
  note_accesses(stream, operation, accesses, number);
  if (operation->event) place_event(operation->event, stream);
  if (stream->last) stream->last->next = operation;
  else stream->first = operation;
  stream->last = operation;
  pthread_cond_signal(&stream->has_work);
  pthread_mutex_unlock(&driver_lock);
  return ticket;
}

void wait_until(const Clock *needed) {
  count(WAITS, 1);
  while (!is_reached(needed, MOST_STREAMS)) pthread_cond_wait(&something_done, &driver_lock);
  join(&host_clock, needed);
}

void wait_for_uses(const Uses *uses) {
  Clock needed = host_clock;
  for (uint32_t i = 0; i < uses->number; i++) {
    uint64_t *ticket = &needed.ticket[uses->of[i].stream];
    if (*ticket < uses->of[i].ticket) *ticket = uses->of[i].ticket;
  }
  wait_until(&needed);
}

void wait_for_context(Context *context) {
  Clock needed = host_clock;
  for (uint32_t i = 0; i < number_of_streams; i++)
    if (streams[i]->context == context) join(&needed, &streams[i]->clock);
  wait_until(&needed);
}

static int do_nothing(Operation *operation) {
  (void)operation;
  return SUCCESS;
}

/* For all that was asked of the stream; of the default stream also for what that stream would wait for. */
int wait_for_stream(Stream *stream) {
  if (stream == stream->context->legacy) submit(stream, new_operation(do_nothing), NULL, 0);
  pthread_mutex_lock(&driver_lock);
  Clock needed = stream->clock;
  wait_until(&needed);
  pthread_mutex_unlock(&driver_lock);
  return error_of(stream->context);
}

int cuStreamCreate(Stream **out, unsigned flags) {
  ENTER(IN_CONTEXT);
  pthread_mutex_lock(&driver_lock);
  *out = open_stream(current_context(), flags);
  pthread_mutex_unlock(&driver_lock);
  return *out ? SUCCESS : OUT_OF_MEMORY;
}

int cuStreamCreateWithPriority(Stream **out, unsigned flags, int priority) {
  (void)priority;
  return cuStreamCreate(out, flags);
}

/* Returns at once; what the stream has to do is still done. */
int cuStreamDestroy_v2(void *handle) {
  ENTER(TO_FREE);
  Stream *stream = (uintptr_t)handle > 2 ? stream_of(handle) : NULL;
  if (!stream) return INVALID_HANDLE;
  pthread_mutex_lock(&driver_lock);
  stream->is_open = false;
  pthread_mutex_unlock(&driver_lock);
  return SUCCESS;
}

int cuStreamSynchronize(void *handle) {
  ENTER(IN_CONTEXT);
  Stream *stream = stream_of(handle);
  return stream ? wait_for_stream(stream) : INVALID_HANDLE;
}

int cuStreamQuery(void *handle) {
  ENTER(IN_CONTEXT);
  Stream *stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  pthread_mutex_lock(&driver_lock);
  bool is_done = is_reached(&stream->clock, MOST_STREAMS);
  if (is_done) join(&host_clock, &stream->clock);
  pthread_mutex_unlock(&driver_lock);
  return is_done ? error_of(stream->context) : NOT_READY;
}

int cuCtxSynchronize(void) {
  ENTER(IN_CONTEXT);
  pthread_mutex_lock(&driver_lock);
  wait_for_context(current_context());
  pthread_mutex_unlock(&driver_lock);
  return error_of(current_context());
}
