/* Exact calls of threads, as instrumentation records them: for each thread, the method and time of each entry and exit.
 * All sources of exact calls use this form: the session's call log, Matrix's method log, atrace and ftrace text, and
 * btrace 2.0 files. Importers fill it in. Repair (calls_repair.h) gives every call an end. The timeline (timeline.h)
 * and the lab's score then read it.
 *
 * A thread's events are in time order; events of equal time keep the order of the stream:
 *
 *   BEGIN   the thread enters the method
 *   END     the thread leaves the method. `name` is the method if the stream contains it. Otherwise it is
 *           STROBE_CALL_ANY, and the innermost call ends (ftrace's `E|pid`)
 *   THROW   the method throws. The call does not necessarily end, because the method may catch the exception. A later
 *           END or THROW of a caller decides (calls_repair.h)
 *
 * Flags: REPAIRED marks a call whose end is synthesized, REPAIRED_BEGIN one whose begin is synthesized.
 *
 * Not thread-safe; allocates. The first failed allocation sets `failed`, which stays set. Reading half only. */
#ifndef STROBE_TRACE_MODEL_CALLS_H
#define STROBE_TRACE_MODEL_CALLS_H

#include "engine/base/status.h"
#include "engine/util/text_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum strobe_call_what { STROBE_CALL_BEGIN, STROBE_CALL_END, STROBE_CALL_THROW };
enum { STROBE_CALL_REPAIRED = 1, STROBE_CALL_REPAIRED_BEGIN = 2 }; /* flags */
#define STROBE_CALL_ANY UINT32_MAX

struct strobe_call {
    uint64_t time_ns;
    uint32_t name; /* number in calls->names, or STROBE_CALL_ANY */
    uint16_t what; /* enum strobe_call_what */
    uint16_t flags;
};

/* An event of the stream that is not a call: begin or end of an asynchronous slice, a counter's value, an instant. */
enum strobe_call_mark_kind { STROBE_MARK_INSTANT, STROBE_MARK_COUNTER, STROBE_MARK_ASYNC_BEGIN, STROBE_MARK_ASYNC_END };
struct strobe_call_mark {
    uint64_t time_ns;
    uint32_t name;
    uint32_t kind; /* enum strobe_call_mark_kind */
    int64_t value; /* of a counter: its value; of an asynchronous slice: its cookie */
};

struct strobe_calls_thread {
    uint32_t tid;
    bool is_main;
    char name[33];
    struct strobe_call *calls;
    size_t call_count, call_room;
    struct strobe_call_mark *marks;
    size_t mark_count, mark_room;
    uint64_t lost;      /* events known to be missing: overwritten or refused */
    uint64_t unordered; /* events whose time was before their predecessor's; they got the predecessor's time */
};

struct strobe_calls {
    uint32_t pid; /* 0 = unknown */
    char process[256];
    struct strobe_text_pool names;
    struct strobe_calls_thread *threads;
    size_t thread_count, thread_room;
    uint64_t begin_ns, end_ns; /* range of the stream */
    bool has_range;            /* the stream has an event */
    uint64_t resolution_ns;    /* step of the stream's clock: 1; Matrix's is 5,000,000 */
    bool failed;               /* out of memory */
};

void strobe_calls_open(struct strobe_calls *c); /* *c may be uninitialized */
void strobe_calls_close(struct strobe_calls *c);

/* Returns the number of the name of `bytes` bytes, and adds the name if it is new. STROBE_CALL_ANY: out of memory. */
uint32_t strobe_calls_name(struct strobe_calls *c, const char *name, size_t bytes);

/* Returns an array indexed by name: 1 if a call has the name, else 0. The caller frees it. NULL: out of memory. */
uint8_t *strobe_calls_used(const struct strobe_calls *c);

/* Returns the index of the thread with this tid. A new thread is named "thread TID", and is the main thread when `tid`
 * equals `pid`. Indices stay valid; pointers to threads do not. UINT32_MAX: out of memory. */
uint32_t strobe_calls_thread(struct strobe_calls *c, uint32_t tid);

void strobe_calls_add(struct strobe_calls *c, uint32_t thread, enum strobe_call_what what, uint64_t time_ns,
                      uint32_t name);
void strobe_calls_mark(struct strobe_calls *c, uint32_t thread, enum strobe_call_mark_kind kind, uint64_t time_ns,
                       uint32_t name, int64_t value);

#endif
