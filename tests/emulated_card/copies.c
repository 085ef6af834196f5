/* Copies and fills. Pageable memory of the host is staged as the driver does: a copy up takes its bytes when it is asked
 * for, a copy down is waited for. Pinned memory is read and written when the stream comes to it. */
#include "driver.h"
#include <stdlib.h>
#include <string.h>

static int copy_up(Operation *operation) {
  take_time(COPYING);
  if (is_repeating()) return SUCCESS;
  memcpy(operation->to, operation->from, operation->bytes);
  mark_written((uint64_t)operation->to, operation->bytes, 1);
  return SUCCESS;
}

static int copy_down(Operation *operation) {
  take_time(COPYING);
  return bring(operation->to, operation->from, operation->bytes);
}

/* Bytes that were never written are not written by being copied. */
static int copy_within(Operation *operation) {
  const Memory *memory = &memory_of[operation->stream->context->card];
  uint64_t to = (uint64_t)(operation->to - memory->base), from = (uint64_t)(operation->from - memory->base);
  take_time(COPYING);
  if (is_repeating()) return SUCCESS;
  memmove(operation->to, operation->from, operation->bytes);
  memmove(memory->written + to, memory->written + from, operation->bytes);
  return SUCCESS;
}

static int fill(Operation *operation) {
  if (is_repeating()) return SUCCESS;
  memset(operation->to, operation->value, operation->bytes);
  mark_written((uint64_t)operation->to, operation->bytes, 1);
  return SUCCESS;
}

static Operation *new_copy(int (*run)(Operation *), void *to, const void *from, size_t bytes) {
  Operation *operation = new_operation(run);
  operation->to = to;
  operation->from = (uint8_t *)from;
  operation->bytes = bytes;
  return operation;
}

/* Puts a copy on the stream, with the pinned memory that it uses; NULL where there is none. */
static void submit_copy(Stream *stream, Operation *operation, Access access, const void *pinned) {
  uint64_t ticket = submit(stream, operation, &access, 1);
  if (!pinned) return;
  pthread_mutex_lock(&driver_lock);
  note_pinned_use(pinned, stream->number, ticket);
  pthread_mutex_unlock(&driver_lock);
}

static int upload(uint64_t to, const void *from, size_t bytes, void *handle, bool waits) {
  Access access = {.address = to, .bytes = bytes, .is_written = true};
  Stream *stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  if (!bytes) return SUCCESS;
  if (check_access("a copy to the card", access)) return INVALID_VALUE;
  Operation *operation = new_copy(copy_up, (void *)to, from, bytes);
  bool is_from_pinned = is_pinned(from, bytes);
  if (!is_from_pinned) {
    operation->from = operation->staged = malloc(bytes);
    memcpy(operation->staged, from, bytes);
  }
  submit_copy(stream, operation, access, is_from_pinned ? from : NULL);
  count(COPIES_UP, 1);
  count(BYTES_UP, bytes);
  return is_from_pinned && waits ? wait_for_stream(stream) : SUCCESS;
}

static int download(void *to, uint64_t from, size_t bytes, void *handle, bool waits) {
  Access access = {.address = from, .bytes = bytes, .is_read = true};
  Stream *stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  if (!bytes) return SUCCESS;
  if (check_access("a copy from the card", access)) return INVALID_VALUE;
  bool is_to_pinned = is_pinned(to, bytes);
  submit_copy(stream, new_copy(copy_down, to, (void *)from, bytes), access, is_to_pinned ? to : NULL);
  count(COPIES_DOWN, 1);
  count(BYTES_DOWN, bytes);
  return waits || !is_to_pinned ? wait_for_stream(stream) : SUCCESS;
}

static int copy_on_card(uint64_t to, uint64_t from, size_t bytes, void *handle) {
  Access accesses[] = {{.address = from, .bytes = bytes, .is_read = true},
                       {.address = to, .bytes = bytes, .is_written = true}};
  Stream *stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  if (!bytes) return SUCCESS;
  for (int i = 0; i < 2; i++)
    if (check_access("a copy on the card", accesses[i])) return INVALID_VALUE;
  submit(stream, new_copy(copy_within, (void *)to, (void *)from, bytes), accesses, 2);
  count(COPIES_WITHIN, 1);
  return SUCCESS;
}

static int set(uint64_t to, unsigned char value, size_t bytes, void *handle) {
  Access access = {.address = to, .bytes = bytes, .is_written = true};
  Stream *stream = stream_of(handle);
  if (!stream) return INVALID_HANDLE;
  if (!bytes) return SUCCESS;
  if (check_access("a fill", access)) return INVALID_VALUE;
  Operation *operation = new_copy(fill, (void *)to, NULL, bytes);
  operation->value = value;
  submit(stream, operation, &access, 1);
  return SUCCESS;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  ENTER(IN_CONTEXT);
  return upload(to, from, bytes, NULL, true);
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
  ENTER(IN_CONTEXT);
  return upload(to, from, bytes, stream, false);
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  ENTER(IN_CONTEXT);
  return download(to, from, bytes, NULL, true);
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  ENTER(IN_CONTEXT);
  return download(to, from, bytes, stream, false);
}

int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
  ENTER(IN_CONTEXT);
  return copy_on_card(to, from, bytes, NULL);
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  ENTER(IN_CONTEXT);
  return copy_on_card(to, from, bytes, stream);
}

int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t bytes) {
  ENTER(IN_CONTEXT);
  return set(to, value, bytes, NULL);
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream) {
  ENTER(IN_CONTEXT);
  return set(to, value, bytes, stream);
}
