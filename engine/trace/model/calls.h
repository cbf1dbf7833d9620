/* Exact calls of threads, as instrumentation tells them: who was entered and left when, thread by thread. The common
 * form of everything that is no sample: the session's call log, Matrix's method log, atrace and ftrace text, btrace 2.0
 * files. Importers fill it in; repair (calls_repair.h) makes every call end; the timeline (timeline.h) and the lab's
 * score take it from there.
 *
 * A thread's events are in time order, equal times in the order of the stream:
 *
 *   BEGIN   the method is entered
 *   END     the method is left. `name` says which, where the stream says so; STROBE_CALL_ANY where it only says that
 *           the innermost call ended (ftrace's `E|pid`)
 *   THROW   the method throws. Not an end by itself: it may catch what it threw (a caller's END or THROW tells)
 *
 * What a stream told of a call that was not so is marked: REPAIRED = its end was made up, REPAIRED_BEGIN = its begin.
 *
 * Not thread-safe; allocates; the first lack of memory sticks in `failed`. Reading half only. */
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

/* A mark of the stream beside its calls: an asynchronous slice's end, a counter's value (`value`), an instant. */
enum strobe_call_mark_kind { STROBE_MARK_INSTANT, STROBE_MARK_COUNTER, STROBE_MARK_ASYNC_BEGIN, STROBE_MARK_ASYNC_END };
struct strobe_call_mark {
    uint64_t time_ns;
    uint32_t name;
    uint32_t kind; /* enum strobe_call_mark_kind */
    int64_t value; /* a counter's, an asynchronous slice's cookie */
};

struct strobe_calls_thread {
    uint32_t tid;
    bool is_main;
    char name[33];
    struct strobe_call *calls;
    size_t call_count, call_room;
    struct strobe_call_mark *marks;
    size_t mark_count, mark_room;
    uint64_t lost;      /* events known to be missing: overwritten, refused */
    uint64_t unordered; /* events that came with an earlier time than the one before; they got its time */
};

struct strobe_calls {
    uint32_t pid; /* 0 = not told */
    char process[256];
    struct strobe_text_pool names;
    struct strobe_calls_thread *threads;
    size_t thread_count, thread_room;
    uint64_t begin_ns, end_ns; /* range of the stream */
    bool has_range;            /* it has an event */
    uint64_t resolution_ns;    /* how fine its clock is: 1; Matrix's 5,000,000 */
    bool failed;               /* out of memory */
};

void strobe_calls_open(struct strobe_calls *c); /* memory may be anything */
void strobe_calls_close(struct strobe_calls *c);

/* The number of a name of `bytes` bytes. */
uint32_t strobe_calls_name(struct strobe_calls *c, const char *name, size_t bytes);

/* By number of a name: 1 where it is a call's, for not all need be. The caller frees it; NULL: out of memory. */
uint8_t *strobe_calls_used(const struct strobe_calls *c);

/* The thread of a tid: the one told before, or a new one named "thread TID", main when tid = pid. Numbers stay good,
 * pointers to threads do not. */
uint32_t strobe_calls_thread(struct strobe_calls *c, uint32_t tid);

void strobe_calls_add(struct strobe_calls *c, uint32_t thread, enum strobe_call_what what, uint64_t time_ns,
                      uint32_t name);
void strobe_calls_mark(struct strobe_calls *c, uint32_t thread, enum strobe_call_mark_kind kind, uint64_t time_ns,
                       uint32_t name, int64_t value);

#endif
