/* Reads a recorded session: its threads, their samples with stacks, and what was lost.
 *
 * `strobe record`, an app that embeds the engine, and `strobe import` write sessions (strobe-session(5)). A session may
 * be closed, cut off when the process was killed, or damaged. Every part is checked before it is used, so any file can
 * be opened safely.
 *
 *   struct strobe_view *view;
 *   struct strobe_error error;
 *   if (strobe_view_open("app.strobe", 0, &view, &error) != STROBE_OK)
 *       errx(2, "app.strobe: %s", error.text);
 *   for (uint32_t t = 0; t < strobe_view_get_info(view)->threads; t++)
 *       for (size_t i = 0; i < strobe_view_get_thread(view, t)->records; i++) {
 *           struct strobe_view_record r = strobe_view_get_record(view, t, i);
 *           ...
 *       }
 *   strobe_view_close(view);
 *
 * Times are nanoseconds of CLOCK_BOOTTIME, the clock of traces. Indices count from 0. Strings belong to the view: they
 * are never NULL and live until strobe_view_close. A view is used by one thread at a time. The functions allocate; none
 * writes to the session. C11 and C++. Link with `pkg-config --libs strobe-trace`. */
#ifndef STROBE_INCLUDE_STROBE_SESSION_H
#define STROBE_INCLUDE_STROBE_SESSION_H

#include "status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct strobe_view;

enum {
    STROBE_VIEW_INLINES = 1,  /* frames for inlined calls, too */
    STROBE_VIEW_NO_LINES = 4, /* no source files and lines: faster. Value 2 is reserved and is ignored */
};

/* Opens a session file and reads it whole; needs about 100 bytes of memory per record. `options`: STROBE_VIEW_* or 0.
 * On failure *out is NULL and the text of `error` (may be NULL) says what was expected, without the path.
 *
 *   STROBE_IO            the file cannot be read; errno holds the reason
 *   STROBE_BAD_INPUT     not a session
 *   STROBE_BAD_VERSION   a session of a later format
 *   STROBE_TRUNCATED     the file is shorter than its header states
 *   STROBE_NO_MEMORY */
STROBE_API enum strobe_status strobe_view_open(const char *path, unsigned options, struct strobe_view **out,
                                               struct strobe_error *error);

/* Frees the view. NULL is allowed. */
STROBE_API void strobe_view_close(struct strobe_view *view);

/* The session as a whole. */
struct strobe_view_info {
    uint32_t pid;
    const char *program; /* path of the program's file */
    uint64_t begin_ns, end_ns;
    uint32_t threads; /* two threads that used one tid in turn count as two */
    int closed;       /* 0 = the process was killed, or still runs: the last records may be missing */
    uint64_t samples; /* in all records */
    uint64_t lost;    /* samples overwritten by later records + samples dropped, that is, refused by the ring. Samples
                         without a stack, and events while paused or inside the engine, are not in it */
};

STROBE_API const struct strobe_view_info *strobe_view_get_info(const struct strobe_view *view);

/* Checks the accounting: every event is a sample, or is counted as one of these: rejected by the gate, paused, inside
 * the engine, without a stack, refused by the ring. Returns STROBE_OK, or STROBE_BAD_INPUT with the first equation that
 * does not hold in `error` (may be NULL). */
STROBE_API enum strobe_status strobe_view_check(const struct strobe_view *view, struct strobe_error *error);

struct strobe_view_thread {
    uint32_t tid;     /* of the kernel */
    const char *name; /* "thread 123" when it is not known */
    int is_main;
    uint64_t begin_ns, end_ns; /* end_ns: for a thread still alive, the session's end */
    size_t records;
    uint64_t samples, lost; /* as in strobe_view_info */
};

/* Returns a thread (index below info->threads), or NULL for another index. */
STROBE_API const struct strobe_view_thread *strobe_view_get_thread(const struct strobe_view *view, uint32_t thread);

/* A record: one sample, several samples at one place, or a blocking call with its time. */
struct strobe_view_record {
    uint64_t begin_ns;    /* of the first sample, or of the call */
    uint64_t duration_ns; /* to the last sample, or to the end of the call; 0 for one sample */
    const char *kind;     /* the event: "async" (by the sampler), "cpu", "mutex", "read", "alloc", ... */
    int is_call;          /* the thread was in this blocking call for all of the duration */
    uint32_t samples;     /* 1 or more */
    uint32_t stack;       /* for strobe_view_get_frames; 0 = not known */
    uint64_t subject;     /* a size, a descriptor or the address of a lock; 0 = none. No meaning for "cpu" */
    uint64_t cpu_ns;      /* CPU time of the thread at the end of the record; 0 = not known */
};

/* Returns a record of a thread. Records are in the order of their begins. An index out of range yields a record with
 * `samples` 0. */
STROBE_API struct strobe_view_record strobe_view_get_record(const struct strobe_view *view, uint32_t thread,
                                                            size_t index);

struct strobe_view_frame {
    const char *function; /* demangled; "libfoo.so+0x1234" or "0x7f12..." when it has no name */
    const char *image;    /* path of the library or program as recorded; "" when none holds the address */
    const char *file;     /* source file; "" when not known */
    uint32_t line;        /* 0 when not known */
    uint64_t address;     /* return address as recorded; for an interrupted instruction, its address + 1 */
};

/* Writes the frames of a stack into out[0 .. *count), outermost first; looks up their names on first use. `stack` 0 has
 * no frames. A stack with more than `capacity` frames yields its outermost ones and STROBE_FULL.
 *
 *   STROBE_NO_ENTRY    no such stack, or the stack table is damaged there */
STROBE_API enum strobe_status strobe_view_get_frames(struct strobe_view *view, uint32_t stack,
                                                     struct strobe_view_frame *out, size_t capacity, size_t *count);

#ifdef __cplusplus
}
#endif

#endif
