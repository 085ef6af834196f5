/* Batched Deflate of nvCOMP 6 (its header nvcomp/deflate.h), as operations on the card's streams. zlib compresses the
 * blocks, at level 1, about as far as nvCOMP at level 2. Room and scratch are what nvCOMP asks for. */
#include "driver.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { BAD_VALUE = 10, BAD_ALIGNMENT = 17, CUDA_FAILED = 1000 }; /* nvcompStatus_t */
enum { ALIGNMENT = 8, LEVELS = 6, ZLIB_HEADER = 2, CHECKSUM = 4 };

typedef struct {
  int level;
  char reserved[60];
} DeflateOptions;

typedef struct {
  const uint64_t *from, *bytes, *to;
  uint64_t *made;
  int32_t *statuses;
  uint8_t *scratch;
  uint64_t scratch_bytes, number, most;
} Blocks;

/* Deflates a block; 0 without zlib. */
static uint64_t deflate(const uint8_t *in, uint64_t size, uint8_t *out, size_t room) {
  static int (*compress2)(uint8_t *, unsigned long *, const uint8_t *, unsigned long, int);
  unsigned long made = room;
  if (!compress2) {
    void *zlib = dlopen("libz.so.1", RTLD_NOW);
    if (zlib) *(void **)&compress2 = dlsym(zlib, "compress2");
  }
  if (!compress2 || compress2(out, &made, in, size, 1)) return 0;
  memmove(out, out + ZLIB_HEADER, made - ZLIB_HEADER - CHECKSUM);
  return made - ZLIB_HEADER - CHECKSUM;
}

int nvcompGetProperties(uint32_t *versions) {
  versions[0] = 6000, versions[1] = 13000; /* of nvCOMP and of CUDA */
  return SUCCESS;
}

const char *nvcompGetStatusString(int status) {
  return status == SUCCESS       ? "The operation completed successfully"
         : status == CUDA_FAILED ? "A CUDA runtime or device error occurred during the operation"
                                 : "An emulated error";
}

int nvcompBatchedDeflateCompressGetMaxOutputChunkSize(size_t most, DeflateOptions options, size_t *bytes) {
  if (options.level < 0 || options.level >= LEVELS) return BAD_VALUE;
  *bytes = (2 * most + 17112) / ALIGNMENT * ALIGNMENT;
  return SUCCESS;
}

int nvcompBatchedDeflateCompressGetTempSize(size_t number, size_t most, DeflateOptions options, size_t *bytes, size_t total,
                                            void *stream) {
  static const uint64_t of_level[LEVELS] = {0, 359200, 654112, 654112, 1109824, 1175104}; /* for 65,280 bytes */
  (void)stream;
  if (options.level < 0 || options.level >= LEVELS || total > number * most) return BAD_VALUE;
  *bytes = number * (of_level[options.level] * most / 65280) + ALIGNMENT;
  return SUCCESS;
}

static bool is_handed_out(uint64_t address, uint64_t bytes) {
  pthread_mutex_lock(&driver_lock);
  Allocation *found = allocation_at(address);
  bool is_inside = found && bytes <= found->begin + found->bytes - address;
  pthread_mutex_unlock(&driver_lock);
  if (!is_inside) finding("bounds", "nvCOMP touches %lu bytes at %#lx, which lie in no array", (unsigned long)bytes, (unsigned long)address);
  return is_inside;
}

static bool is_written(uint32_t card, uint64_t address, uint64_t bytes) {
  const Memory *memory = &memory_of[card];
  if (!(check_flags & CHECK_WRITTEN) || !memchr(memory->written + (address - (uint64_t)memory->base), 0, bytes)) return true;
  finding("never written", "nvCOMP reads %lu bytes at %#lx", (unsigned long)bytes, (unsigned long)address);
  return false;
}

static int compress_block(const Blocks *b, uint32_t card, uint64_t i) {
  size_t room;
  nvcompBatchedDeflateCompressGetMaxOutputChunkSize(b->most, (DeflateOptions){.level = 0}, &room);
  if (b->bytes[i] > b->most || b->to[i] % ALIGNMENT) return LAUNCH_FAILED;
  if (!is_handed_out(b->from[i], b->bytes[i]) || !is_handed_out(b->to[i], room)) return LAUNCH_FAILED;
  if (!is_written(card, b->from[i], b->bytes[i]) && fails_on_finding) return LAUNCH_FAILED;
  b->statuses[i] = fault_in("nvcompStatus");
  b->made[i] = deflate((const uint8_t *)b->from[i], b->bytes[i], (uint8_t *)b->to[i], room);
  if (!b->made[i]) return LAUNCH_FAILED;
  mark_written(b->to[i], b->made[i], 1);
  return SUCCESS;
}

static int compress_blocks(Operation *operation) {
  const Blocks *b = operation->staged;
  uint32_t card = operation->stream->context->card;
  take_time(LAUNCHING);
  int result = fault_of_launch(card);
  if (result) return result;
  if (operation->is_faulty && fails_on_finding) return LAUNCH_FAILED;
  if (is_repeating()) return SUCCESS;
  memset(b->scratch, 0xEE, b->scratch_bytes);
  mark_written((uint64_t)b->scratch, b->scratch_bytes, 0);
  for (uint64_t i = 0; i < b->number && !result; i++) result = compress_block(b, card, i);
  mark_written((uint64_t)b->made, 8 * b->number, 1);
  mark_written((uint64_t)b->statuses, 4 * b->number, 1);
  return result;
}

int nvcompBatchedDeflateCompressAsync(const void *const *from, const size_t *bytes, size_t most, size_t number, void *scratch,
                                      size_t scratch_bytes, void *const *to, size_t *made, DeflateOptions options,
                                      int *statuses, void *handle) {
  size_t needed;
  int fault = fault_in(__func__);
  if (fault) return fault;
  if (!current_context() || error_of(current_context())) return CUDA_FAILED;
  Stream *stream = stream_of(handle);
  if (!stream || nvcompBatchedDeflateCompressGetTempSize(number, most, options, &needed, 0, handle)) return BAD_VALUE;
  for (int i = 0; i < 60; i++)
    if (options.reserved[i]) return BAD_VALUE;
  if (!number || most > 65536 || scratch_bytes < needed) return BAD_VALUE;
  if ((uint64_t)scratch % ALIGNMENT) return BAD_ALIGNMENT;
  Access accesses[] = {{(uint64_t)from, 8 * number, true, false},   {(uint64_t)bytes, 8 * number, true, false},
                       {(uint64_t)to, 8 * number, true, false},     {(uint64_t)scratch, scratch_bytes, false, true},
                       {(uint64_t)made, 8 * number, false, true},   {(uint64_t)statuses, 4 * number, false, true}};
  for (int i = 0; i < 6; i++)
    if (check_access("nvCOMP", accesses[i])) return BAD_VALUE;
  Operation *operation = new_operation(compress_blocks);
  Blocks *blocks = operation->staged = malloc(sizeof *blocks);
  *blocks = (Blocks){(const uint64_t *)from, bytes, (const uint64_t *)to, made, statuses, scratch, scratch_bytes, number, most};
  submit(stream, operation, accesses, 6);
  count(LAUNCHES, 1);
  return SUCCESS;
}
