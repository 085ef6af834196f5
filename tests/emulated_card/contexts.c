/* Primary contexts, and the stack of contexts that each thread has. */
#include "driver.h"

enum { DEEPEST = 64 };

pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;
Context contexts[MOST_CARDS];

static bool is_initialized, is_forked;
static __thread Context *stack[DEEPEST];
static __thread uint32_t depth;

Context *current_context(void) { return depth ? stack[depth - 1] : NULL; }

int error_of(const Context *context) {
  int lost = __atomic_load_n(&cards[context->card].lost, __ATOMIC_ACQUIRE);
  return lost ? lost : __atomic_load_n(&context->error, __ATOMIC_ACQUIRE);
}

/* Why a call is refused before it does anything; 0. A free without a context leaks on a card, and is a fault here. */
int enter(const char *function, Needs needs) {
  int fault = fault_in(function);
  if (fault) return fault;
  if (!is_initialized) return NOT_INITIALIZED;
  if (needs == ANYWHERE) return SUCCESS;
  if (!current_context()) {
    if (needs == TO_FREE) finding("no context", "%s on a thread that has no current context", function);
    return INVALID_CONTEXT;
  }
  return needs == TO_FREE ? SUCCESS : error_of(current_context());
}

/* A child that was forked has no workers. A card's driver does not work there either. */
static void give_up(void) {
  is_initialized = false;
  is_forked = true;
}

int cuInit(unsigned flags) {
  int fault = fault_in(__func__);
  if (fault) return fault;
  if (is_forked) return NOT_INITIALIZED;
  if (flags) return INVALID_VALUE;
  if (!is_initialized && pthread_atfork(NULL, NULL, give_up)) return OUT_OF_MEMORY;
  is_initialized = true;
  return number_of_cards ? SUCCESS : 100; /* CUDA_ERROR_NO_DEVICE */
}

static Context *context_of(int device) {
  return device >= 0 && (uint32_t)device < number_of_cards ? &contexts[device] : NULL;
}

int cuDevicePrimaryCtxRetain(Context **out, int device) {
  ENTER(ANYWHERE);
  Context *context = context_of(device);
  if (!context) return INVALID_DEVICE;
  pthread_mutex_lock(&driver_lock);
  context->references++;
  pthread_mutex_unlock(&driver_lock);
  *out = context;
  return error_of(context);
}

/* What a context owned goes with it; its handle stays good, for it is the card's only one. */
static void end_context(Context *context) {
  wait_for_context(context);
  for (uint32_t i = 0; i < number_of_streams; i++)
    if (streams[i]->context == context && !streams[i]->is_default) streams[i]->is_open = false;
  free_all(context->card);
  __atomic_store_n(&context->error, 0, __ATOMIC_RELEASE);
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  ENTER(ANYWHERE);
  Context *context = context_of(device);
  if (!context) return INVALID_DEVICE;
  pthread_mutex_lock(&driver_lock);
  bool was_there = context->references > 0;
  if (was_there && --context->references == 0) end_context(context);
  pthread_mutex_unlock(&driver_lock);
  return was_there ? SUCCESS : INVALID_CONTEXT;
}

int cuDevicePrimaryCtxReset_v2(int device) {
  ENTER(ANYWHERE);
  Context *context = context_of(device);
  if (!context) return INVALID_DEVICE;
  pthread_mutex_lock(&driver_lock);
  end_context(context);
  pthread_mutex_unlock(&driver_lock);
  return SUCCESS;
}

int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
  ENTER(ANYWHERE);
  Context *context = context_of(device);
  if (!context) return INVALID_DEVICE;
  context->flags = flags;
  return SUCCESS;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active) {
  ENTER(ANYWHERE);
  Context *context = context_of(device);
  if (!context) return INVALID_DEVICE;
  *flags = context->flags;
  *is_active = context->references > 0;
  return SUCCESS;
}

int cuCtxGetCurrent(Context **out) {
  ENTER(ANYWHERE);
  *out = current_context();
  return SUCCESS;
}

int cuCtxPushCurrent_v2(Context *context) {
  ENTER(ANYWHERE);
  if (!context) return INVALID_CONTEXT;
  if (depth == DEEPEST) return OUT_OF_MEMORY;
  stack[depth++] = context;
  return SUCCESS;
}

int cuCtxPopCurrent_v2(Context **out) {
  ENTER(ANYWHERE);
  if (!depth) return INVALID_CONTEXT;
  depth--;
  if (out) *out = stack[depth];
  return SUCCESS;
}

/* Takes the place of the topmost one; NULL only removes it. */
int cuCtxSetCurrent(Context *context) {
  ENTER(ANYWHERE);
  if (depth) depth--;
  if (context) stack[depth++] = context;
  return SUCCESS;
}

int cuCtxGetDevice(int *device) {
  ENTER(ANYWHERE);
  if (!current_context()) return INVALID_CONTEXT;
  *device = (int)current_context()->card;
  return SUCCESS;
}

int cuCtxGetApiVersion(Context *context, unsigned *version) {
  ENTER(ANYWHERE);
  if (!context && !current_context()) return INVALID_CONTEXT;
  *version = 13000;
  return SUCCESS;
}

int cuCtxGetId(Context *context, unsigned long long *identity) {
  ENTER(ANYWHERE);
  if (!context) context = current_context();
  if (!context) return INVALID_CONTEXT;
  *identity = context->card + 1;
  return SUCCESS;
}

int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  ENTER(IN_CONTEXT);
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return SUCCESS;
}
