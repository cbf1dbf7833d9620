/* Collects a sampled capture of another tool and writes it as a session, as `strobe record` writes it. All readers of
 * sessions can then read it.
 *
 * An importer adds threads, functions, stacks, points and waits in any order, and then calls strobe_sampled_make. Each
 * function is a name, with the path of its image where that is known. Times are ns of one clock, which the session has
 * as its CLOCK_BOOTTIME. They must be below STROBE_SAMPLED_TIME_MAX.
 *
 * Memory is bounded by the number of distinct functions, stacks and threads: records go to a temporary file without a
 * name (in TMPDIR, else /tmp), and so does the session. A reader of the session needs memory for each record, since it
 * sorts them.
 *
 * A call that fails because memory, disk or a limit of sessions is exhausted sets a status that stays. Later calls do
 * nothing, and strobe_sampled_make returns the status. An importer may therefore check it only there.
 *
 * A thread is shown from its first record until one interval after its last one, unless its end is given.
 *
 * Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_SAMPLES_STORE_H
#define STROBE_TRACE_IMPORT_SAMPLES_STORE_H

#include "engine/base/status.h"
#include "engine/store/record.h"
#include "engine/util/cursor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STROBE_SAMPLED_TIME_MAX    ((uint64_t)1 << 61)
#define STROBE_SAMPLED_NO_THREAD   UINT32_MAX
#define STROBE_SAMPLED_CPU_UNKNOWN UINT64_MAX

/* A stack. The id 0 is the empty stack. */
struct strobe_sampled_stack {
    uint32_t id;
    bool cut; /* it had more frames than a session holds; the outermost are left out */
};

/* `count` samples of one stack, spread evenly from first_ns to last_ns. */
struct strobe_sampled_point {
    uint64_t first_ns, last_ns;
    uint64_t cpu_ns; /* CPU time of the thread at last_ns, or STROBE_SAMPLED_CPU_UNKNOWN */
    struct strobe_sampled_stack stack;
    uint32_t thread, count, message;      /* message: 0 = not known */
    enum strobe_kind kind;                /* ASYNC: a stop at any time; CPU: the CPU clock ticked; else a hook */
    uint16_t flags;                       /* further STROBE_FLAG_*: READY, GAVE_WAY */
    const struct strobe_metrics *metrics; /* NULL: not known */
};

/* A call that blocked. */
struct strobe_sampled_wait {
    uint64_t begin_ns, end_ns;
    uint64_t begin_cpu_ns, end_cpu_ns; /* both known, or both STROBE_SAMPLED_CPU_UNKNOWN */
    uint64_t what;                     /* identity of the object; 0 = not known */
    struct strobe_sampled_stack stack;
    uint32_t thread, message;
    enum strobe_kind kind;
    const struct strobe_metrics *metrics;
    uint32_t waker;      /* thread that ended the wait, or STROBE_SAMPLED_NO_THREAD: not known */
    uint64_t release_ns; /* with a waker: time of the release; times outside of the wait are moved into it */
    struct strobe_sampled_stack woken; /* with a waker: its stack at the release */
};

struct strobe_sampled;

/* STROBE_IO: out of memory. */
enum strobe_status strobe_sampled_open(struct strobe_sampled **out);
void strobe_sampled_close(struct strobe_sampled *s);

/* Sets the process, and the tid of its main thread. `command` may be "". */
void strobe_sampled_process(struct strobe_sampled *s, uint32_t pid, uint32_t main_tid, const char *command);

/* Sets the interval at which the tool took samples of a thread. Without it, or with 0, the interval is the median of
 * the times between successive points of one thread. `tick_ns`: the CPU time for which a point of kind CPU stands; 0 =
 * there are none. */
void strobe_sampled_interval(struct strobe_sampled *s, uint64_t interval_ns, uint64_t tick_ns);

/* Returns the number of the living thread with this tid; adds it when there is none. STROBE_SAMPLED_NO_THREAD after a
 * failure. */
uint32_t strobe_sampled_thread(struct strobe_sampled *s, uint32_t tid);

/* Sets the thread's name; the last one counts. */
void strobe_sampled_rename(struct strobe_sampled *s, uint32_t thread, const char *name, size_t bytes);

/* Ends the thread: a later one with its tid is another thread. */
void strobe_sampled_thread_end(struct strobe_sampled *s, uint32_t thread, uint64_t time_ns);

/* Returns the number of an image for strobe_sampled_function; 0 stands for none. Adds it when it is new. */
uint32_t strobe_sampled_image(struct strobe_sampled *s, const char *path, size_t bytes);

/* Where a file was in memory. */
struct strobe_sampled_mapping {
    uint64_t start, end; /* of its code */
    uint64_t bias;       /* address = bias + address in the file */
    uint8_t build_id[16];
    uint32_t build_id_bytes; /* 0: not known */
};

/* Adds an image with its own addresses, for captures without names of functions. Frames in it are return addresses in
 * that range, and get names when a session is read, by the file or its companion. An importer adds such images, or
 * names functions, but not both. Images should not overlap. */
void strobe_sampled_map(struct strobe_sampled *s, const char *path, size_t bytes,
                        const struct strobe_sampled_mapping *mapping);

/* Returns the frame that stands for a function in stacks. Equal image and name give an equal frame. 0 after a
 * failure. */
uint64_t strobe_sampled_function(struct strobe_sampled *s, uint32_t image, const char *name, size_t bytes);

/* Returns the stack of `count` frames, outermost first. */
struct strobe_sampled_stack strobe_sampled_stack(struct strobe_sampled *s, const uint64_t *frames, size_t count);

/* Add a record. False: it is left out, because its thread does not exist, count is 0, or a time is out of range or
 * before its begin. */
bool strobe_sampled_point(struct strobe_sampled *s, const struct strobe_sampled_point *point);
bool strobe_sampled_wait(struct strobe_sampled *s, const struct strobe_sampled_wait *wait);

/* Adds a section that the program reported, with its depth among the thread's sections, from 1. A name is cut at
 * STROBE_ANNOTATION_NAME_BYTES. False as above. */
bool strobe_sampled_section(struct strobe_sampled *s, uint32_t thread, struct strobe_cursor name, uint32_t depth,
                            uint64_t begin_ns, uint64_t end_ns);

uint64_t strobe_sampled_count(const struct strobe_sampled *s);   /* samples so far, waits included */
uint64_t strobe_sampled_threads(const struct strobe_sampled *s); /* threads so far */

/* Writes the session to a temporary file without a name, and returns its descriptor in *fd, which the caller closes.
 * STROBE_FULL: more records, stacks, names or threads than a session holds. STROBE_IO with errno: no memory or no disk
 * space. */
enum strobe_status strobe_sampled_make(struct strobe_sampled *s, int *fd);

#endif
