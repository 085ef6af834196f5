/* What a stream is, and functions of the host that it calls. */
#include "driver.h"

int cuStreamGetCtx(void *handle, Context **out) {
  ENTER(IN_CONTEXT);
  Stream *stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  *out = stream->context;
  return SUCCESS;
}

int cuStreamGetFlags(void *handle, unsigned *flags) {
  ENTER(IN_CONTEXT);
  Stream *stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  *flags = stream->flags;
  return SUCCESS;
}

int cuStreamGetPriority(void *handle, int *priority) {
  ENTER(IN_CONTEXT);
  if (!stream_of(handle)) return INVALID_HANDLE;
  *priority = 0;
  return SUCCESS;
}

int cuStreamIsCapturing(void *handle, int *status) {
  ENTER(IN_CONTEXT);
  if (!stream_of(handle)) return INVALID_HANDLE;
  *status = 0;
  return SUCCESS;
}

static int call_with_status(Operation *operation) {
  ((void (*)(Stream *, int, void *))operation->callback)(operation->stream, SUCCESS, operation->argument);
  return SUCCESS;
}

static int call(Operation *operation) {
  ((void (*)(void *))operation->callback)(operation->argument);
  return SUCCESS;
}

static int submit_call(void *handle, int (*how)(Operation *), void (*callback)(void), void *argument) {
  Stream *stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  Operation *operation = new_operation(how);
  operation->callback = callback;
  operation->argument = argument;
  submit(stream, operation, NULL, 0);
  return SUCCESS;
}

int cuStreamAddCallback(void *handle, void (*callback)(void), void *argument, unsigned flags) {
  (void)flags;
  ENTER(IN_CONTEXT);
  return submit_call(handle, call_with_status, callback, argument);
}

int cuLaunchHostFunc(void *handle, void (*function)(void), void *argument) {
  ENTER(IN_CONTEXT);
  return submit_call(handle, call, function, argument);
}
