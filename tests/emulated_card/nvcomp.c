/* Batched Deflate of nvCOMP 6 (its header nvcomp/deflate.h), as operations on the card's streams. Blocks are compressed
 * simply: repeats of three bytes and more, found by a table of the last places, in fixed Huffman codes (RFC 1951). So
 * bytes that do not repeat become more, as they may with nvCOMP. Sizes are those that nvCOMP gives. */
#include "driver.h"
#include <stdlib.h>
#include <string.h>

enum { BAD_VALUE = 10, BAD_ALIGNMENT = 17, CUDA_FAILED = 1000 }; /* nvcompStatus_t */
enum { ALIGNMENT = 8, LEVELS = 6, HASHES = 1 << 12, SHORTEST = 3, LONGEST = 258, FARTHEST = 1 << 15, END = 256 };

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

typedef struct {
  uint8_t *out;
  uint64_t size, bits;
  uint32_t held;
} BitWriter;

static void put(BitWriter *w, uint32_t value, uint32_t bits) {
  w->bits |= (uint64_t)value << w->held;
  for (w->held += bits; w->held >= 8; w->held -= 8, w->bits >>= 8) w->out[w->size++] = (uint8_t)w->bits;
}

/* A Huffman code, whose first bit is the highest. */
static void put_code(BitWriter *w, uint32_t code, uint32_t bits) {
  uint32_t turned = 0;
  for (uint32_t i = 0; i < bits; i++) turned |= (code >> i & 1) << (bits - 1 - i);
  put(w, turned, bits);
}

static void put_symbol(BitWriter *w, uint32_t symbol) {
  if (symbol < 144) put_code(w, 0x30 + symbol, 8);
  else if (symbol < 256) put_code(w, 0x190 + symbol - 144, 9);
  else if (symbol < 280) put_code(w, symbol - 256, 7);
  else put_code(w, 0xC0 + symbol - 280, 8);
}

/* A length (from 3) or a distance (from 1) less its least: `codes` codes for each number of more bits. */
static uint32_t code_of(uint32_t value, uint32_t codes, uint32_t *more) {
  *more = 0;
  while (value >> *more >= 2 * codes) ++*more;
  return *more * codes + (value >> *more);
}

static void put_repeat(BitWriter *w, uint32_t length, uint32_t distance) {
  uint32_t more, code = length == LONGEST ? 28 : code_of(length - SHORTEST, 4, &more);
  put_symbol(w, 257 + code);
  if (length != LONGEST) put(w, (length - SHORTEST) & ((1u << more) - 1), more);
  code = code_of(distance - 1, 2, &more);
  put_code(w, code, 5);
  put(w, (distance - 1) & ((1u << more) - 1), more);
}

static uint64_t deflate(const uint8_t *in, uint32_t size, uint8_t *out) {
  uint32_t last[HASHES] = {0}; /* places, from 1 */
  BitWriter w = {.out = out};
  put(&w, 3, 3); /* the last block, fixed codes */
  for (uint32_t at = 0; at < size;) {
    uint32_t length = 0, other = 0, most = size - at < LONGEST ? size - at : LONGEST;
    if (most >= SHORTEST) {
      uint32_t *place = &last[(in[at] | in[at + 1] << 8 | in[at + 2] << 16) * 2654435761u >> 20];
      other = *place, *place = at + 1;
      if (other && at + 1 - other <= FARTHEST)
        while (length < most && in[other - 1 + length] == in[at + length]) length++;
    }
    if (length >= SHORTEST) put_repeat(&w, length, at + 1 - other);
    else put_symbol(&w, in[at]);
    at += length >= SHORTEST ? length : 1;
  }
  put_symbol(&w, END);
  put(&w, 0, 7);
  return w.size;
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
  b->made[i] = deflate((const uint8_t *)b->from[i], (uint32_t)b->bytes[i], (uint8_t *)b->to[i]);
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
