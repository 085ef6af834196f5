/* What the files of the stub driver share. Results, flags and attributes carry the numbers of cuda.h (CUDA Driver API). */
#pragma once
#include "card.h"
#include <pthread.h>
#include <stdbool.h>

enum { /* CUresult */
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  INVALID_DEVICE = 101,
  INVALID_CONTEXT = 201,
  NO_BINARY = 209,
  INVALID_PTX = 218,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  NOT_READY = 600,
  LAUNCH_FAILED = 719,
  NOT_SUPPORTED = 801,
};

enum { MOST_STREAMS = 512, NON_BLOCKING = 1, DISABLE_TIMING = 2 };

typedef struct Context Context;
typedef struct Stream Stream;
typedef struct Event Event;
typedef struct Operation Operation;

/* What happened before: of each stream the last ticket. A vector clock (Fidge 1988, Mattern 1989). */
typedef struct {
  uint64_t ticket[MOST_STREAMS];
} Clock;

/* The primary context of a card, which is the only one that it has. */
struct Context {
  uint32_t card;
  uint32_t references;
  uint32_t flags;
  int error;      /* that every later call fails with; 0 */
  Stream *legacy; /* its default stream, once asked for */
};

/* A queue with a thread that works on it. Streams are never freed: a new one takes the place of one that was destroyed
 * and has come to its end, and goes on with its tickets, so that an event of the old one stays true. */
struct Stream {
  uint32_t number;
  uint32_t flags;
  bool is_open, is_default;
  Context *context;
  Operation *first, *last;
  uint64_t issued, completed; /* tickets */
  Clock clock;                /* of the operation that came last */
  pthread_cond_t has_work;
  pthread_t worker;
};

/* Something to be done on a stream. `run` is called by the worker, without a lock; 0, or what the context fails with. */
struct Operation {
  Operation *next;
  int (*run)(Operation *);
  uint64_t ticket;
  Clock clock;      /* all of this is done before it runs */
  bool is_faulty;   /* a check has found something when it was enqueued */
  uint8_t *to, *from;
  uint64_t bytes;
  void *staged;     /* freed at the end */
  int value;
  Launch *launch;
  Event *event;
  void (*callback)(void);
  void *argument;
  Stream *stream;
};

/* Device memory that an operation touches. */
typedef struct {
  uint64_t address, bytes;
  bool is_read, is_written;
} Access;

typedef struct {
  uint32_t stream;
  uint64_t ticket;
} Use;

typedef struct {
  Use *of;
  uint32_t number, room;
} Uses;

/* Device memory that was handed out. The gaps between the allocations of a card are its free memory. */
typedef struct Allocation Allocation;
struct Allocation {
  Allocation *next; /* by address */
  uint64_t begin, bytes;
  Uses writers, readers; /* the last writer, and who has read since */
};

typedef struct {
  uint32_t major, minor;
  uint64_t bytes;
  uint64_t used;
  int lost; /* the error that all calls on this card give; 0 */
  Allocation *allocations;
} Card;

extern pthread_mutex_t driver_lock; /* of everything here but what workers run */
extern Card cards[MOST_CARDS];
extern uint32_t number_of_cards;
extern Context contexts[MOST_CARDS];
extern Stream *streams[MOST_STREAMS];
extern uint32_t number_of_streams;

/* contexts.c. What a call needs: nothing, a context, or a context that may have failed (frees and destroys). */
typedef enum { ANYWHERE, IN_CONTEXT, TO_FREE } Needs;
int enter(const char *function, Needs needs);
#define ENTER(needs)                              \
  do {                                            \
    int refused_ = enter(__func__, (needs));      \
    if (refused_) return refused_;                \
  } while (0)
Context *current_context(void);
int error_of(const Context *context);

/* streams.c */
Stream *stream_of(void *handle); /* of the current context; NULL where there is no such stream */
Stream *open_stream(Context *context, uint32_t flags);
Operation *new_operation(int (*run)(Operation *));
uint64_t submit(Stream *stream, Operation *operation, const Access *accesses, uint32_t number);
void wait_until(const Clock *needed);    /* with the lock */
bool is_reached(const Clock *needed, uint32_t except);
int wait_for_stream(Stream *stream);
void wait_for_uses(const Uses *uses);    /* with the lock */
void wait_for_context(Context *context); /* with the lock */

/* order.c; all with the lock */
extern Clock host_clock;
void join(Clock *clock, const Clock *other);
void advance(Stream *stream);
void note_accesses(Stream *stream, Operation *operation, const Access *accesses, uint32_t number);
void note_use(Uses *uses, uint32_t stream, uint64_t ticket);
bool is_in_use(const Uses *uses);

/* memory.c */
bool reserve_card(uint32_t card);
Allocation *allocation_at(uint64_t address); /* with the lock; NULL where nothing is handed out */
int card_of(uint64_t address);               /* -1: of none */
int check_access(const char *what, Access access);
void free_all(uint32_t card);

/* pinned.c */
bool is_pinned(const void *address, uint64_t bytes);
void note_pinned_use(const void *address, uint32_t stream, uint64_t ticket); /* with the lock */

/* events.c; with the lock */
void place_event(Event *event, Stream *stream);
void release_event(Event *event);

/* faults.c */
typedef enum { LOADING, LAUNCHING, COPYING } Work;
int fault_in(const char *function);
int fault_of_launch(uint32_t card);
void take_time(Work work);

/* replay.c */
typedef enum { RUNNING, KEEPING, REPEATING } Replay;
bool is_repeating(void);
int bring(uint8_t *to, const uint8_t *from, uint64_t bytes);

/* findings.c */
typedef enum {
  LAUNCHES, COPIES_UP, BYTES_UP, COPIES_DOWN, BYTES_DOWN, COPIES_WITHIN, WAITS, ALLOCATIONS, FREES, PINNED, LOADS, ARRAYS,
  COUNTS
} Count;
void count(Count what, uint64_t number);
extern uint32_t check_flags, check_seed;
extern bool fails_on_finding;
