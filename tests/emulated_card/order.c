/* What is ordered before what. Two operations that touch the same memory, one of them writing, have to be ordered by a
 * stream, by an event, or by a host that waited for the first before it asked for the second. */
#include "driver.h"
#include <stdlib.h>

Clock host_clock; /* what the host has waited for; of all its threads, which it has to keep in order by itself */

void join(Clock *clock, const Clock *other) {
  for (uint32_t i = 0; i < number_of_streams; i++)
    if (other->ticket[i] > clock->ticket[i]) clock->ticket[i] = other->ticket[i];
}

/* The clock of the stream's next operation. The default stream comes after all blocking streams, and they after it. */
void advance(Stream *stream) {
  const Stream *legacy = stream->context->legacy;
  join(&stream->clock, &host_clock);
  if (stream == legacy) {
    for (uint32_t i = 0; i < number_of_streams; i++)
      if (streams[i]->context == stream->context && !(streams[i]->flags & NON_BLOCKING))
        join(&stream->clock, &streams[i]->clock);
  } else if (legacy && !(stream->flags & NON_BLOCKING)) {
    join(&stream->clock, &legacy->clock);
  }
  stream->clock.ticket[stream->number] = ++stream->issued;
}

/* The last use by each stream is kept. */
void note_use(Uses *uses, uint32_t stream, uint64_t ticket) {
  for (uint32_t i = 0; i < uses->number; i++)
    if (uses->of[i].stream == stream) {
      uses->of[i].ticket = ticket;
      return;
    }
  if (uses->number == uses->room) {
    uses->room = uses->room ? 2 * uses->room : 4;
    uses->of = realloc(uses->of, uses->room * sizeof *uses->of);
  }
  uses->of[uses->number++] = (Use){stream, ticket};
}

bool is_in_use(const Uses *uses) {
  for (uint32_t i = 0; i < uses->number; i++)
    if (streams[uses->of[i].stream]->completed < uses->of[i].ticket) return true;
  return false;
}

static bool are_before(const Uses *uses, const Clock *clock) {
  for (uint32_t i = 0; i < uses->number; i++)
    if (clock->ticket[uses->of[i].stream] < uses->of[i].ticket) return false;
  return true;
}

static void note_access(Stream *stream, Operation *operation, Access access) {
  Allocation *touched = allocation_at(access.address);
  if (!touched) return;
  bool follows_writers = are_before(&touched->writers, &operation->clock);
  bool follows_readers = !access.is_written || are_before(&touched->readers, &operation->clock);
  if (!follows_writers || !follows_readers) {
    operation->is_faulty = true;
    finding("unordered", "stream %u %s memory at %#lx that another stream %s, and nothing orders them", stream->number,
            access.is_written ? "writes" : "reads", (unsigned long)access.address,
            follows_writers ? "reads" : "writes");
  }
  if (access.is_written) {
    touched->writers.number = touched->readers.number = 0;
    note_use(&touched->writers, stream->number, operation->ticket);
  } else if (access.is_read) {
    note_use(&touched->readers, stream->number, operation->ticket);
  }
}

/* Reads are noted before writes: an operation that does both stands as the writer. */
void note_accesses(Stream *stream, Operation *operation, const Access *accesses, uint32_t number) {
  for (int writes = 0; writes < 2; writes++)
    for (uint32_t i = 0; i < number; i++)
      if (accesses[i].is_written == writes) note_access(stream, operation, accesses[i]);
}
