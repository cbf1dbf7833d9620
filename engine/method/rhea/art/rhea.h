/* RheaTrace's capture on a device: an atrace proxy in front of libcutils, and file events of the libraries loaded.
 *
 *   atrace_enabled_tags      exchanged at start, put back at stop (unless somebody has set others since)
 *   atrace_marker_fd         where it is -1 (apps may not open the marker), a number that is none, -100
 *   write, __write_chk       slots of all libraries but this one: what goes to the marker goes to the ring instead;
 *                            other descriptors pass through
 *   atrace_begin_body,       with main_only: calls of other threads end there, before anything is put together
 *   atrace_end_body
 *   open, read, pread, readv, write, pwrite, fsync, fdatasync, sync and their checked and 64-bit kin
 *                            with io: a begin with a label before, an end after (labels: engine/method/rhea/atrace.h)
 *
 * Hooks are slots (hook.h), the one way of this tree. There is no hub and no list of frames a thread: a proxy calls the
 * original itself and keeps nothing between the two, so a call may recurse, be left by longjmp, end its thread or have
 * the hooks taken out below it, to any depth; what is missing then is the end in the log, which repair makes up. What a
 * proxy does itself it does by bare system calls that no hook sees.
 *
 * Messages: begin and end go to the ring; with `forward` also to the marker, where there is a real one. What is passed
 * by (asynchronous, counters) goes on to a real marker. Threads of the engine's own (strobe_local.busy) are let be.
 *
 * A forked child keeps the hooks and writes nothing to its parent's ring.
 *
 * Source: RheaTrace btrace v1.0.1, profilo's atrace snooper, as studied. */
#ifndef STROBE_METHOD_RHEA_ART_RHEA_H
#define STROBE_METHOD_RHEA_ART_RHEA_H

#include "engine/backend/art/art.h"
#include "engine/base/error.h"
#include "engine/method/rhea/rhea_log.h"

/* Tags whose messages are asked for: graphics, view, webview, window and activity manager, app, resources, dalvik
 * (ATRACE_TAG_* of libcutils). */
#define STROBE_RHEA_TAGS (1u << 1 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 12 | 1u << 13 | 1u << 14)
enum { STROBE_RHEA_MAGIC_FD = -100, STROBE_RHEA_IO_LEAST = 1024 };

struct strobe_rhea_options {
    const char *ring_path; /* file to be made for the ring, which outlives the process; NULL = memory alone */
    uint64_t slots;        /* asked for; see strobe_packet_ring_slots */
    uint64_t tags;         /* 0 = STROBE_RHEA_TAGS */
    bool main_only;
    bool io;
    uint32_t io_least; /* reads and writes of fewer bytes are not told; 0 = 1024, as the original */
    bool forward;
    const char *cutils; /* NULL = "libcutils.so" */
};

/* Begins. STROBE_EXISTS: one is under way, or the file is there already. STROBE_NO_ENTRY: no such library, or it has
 * not what is needed. STROBE_UNSUPPORTED: nothing that is loaded writes through slots. STROBE_IO: errno. Nothing was
 * changed then, and `error` has one line. */
STROBE_ART_API enum strobe_status strobe_rhea_start(const struct strobe_rhea_options *options,
                                                    struct strobe_error *error);

/* Looks for libraries that were loaded since, whose slots are not exchanged yet. While one is under way. */
STROBE_ART_API void strobe_rhea_look_again(void);

/* Ends: tags, marker and slots as they were. STROBE_EXISTS: somebody has hooked on top of a slot, which stays, and
 * leads through here. STROBE_IO: a slot could not be written. The ring stays to be dumped. */
STROBE_ART_API enum strobe_status strobe_rhea_stop(void);

/* Writes the log (rhea_log.h) of the capture under way or ended last to an open file. STROBE_NO_ENTRY: there is none;
 * STROBE_IO: errno. By one thread at a time. */
STROBE_ART_API enum strobe_status strobe_rhea_dump(int fd, uint32_t digits, struct strobe_rhea_log_stats *stats);

/* Lets an ended capture's memory go. Calls that came before the end may still write there: its addresses stay taken,
 * its pages and its file do not. Harmless without one. */
STROBE_ART_API void strobe_rhea_release(void);

/* Marks of an instrumented method, by its name. Any thread, also in a signal handler; harmless when no capture is
 * under way. */
STROBE_ART_API void strobe_rhea_enter(const char *name);
STROBE_ART_API void strobe_rhea_leave(const char *name);
STROBE_ART_API void strobe_rhea_throw(const char *name);

/* ---- between rhea.c and rhea_hooks.c */

/* What proxies look at: a page of its own for each capture, never given back, so that a call which began before the end
 * finds there what it began with, whatever was started since. A forked child finds zeroes. */
struct strobe_rhea_capture {
    strobe_a32 on;
    struct strobe_atrace atrace;
    int *marker_fd;
    uint64_t io_least;
    bool forward;
};
extern struct strobe_rhea_capture *strobe_rhea_newest; /* NULL: none yet */

/* The one under way, or NULL. */
static inline struct strobe_rhea_capture *strobe_rhea_on(void)
{
    struct strobe_rhea_capture *c = __atomic_load_n(&strobe_rhea_newest, __ATOMIC_ACQUIRE);
    return c && strobe_load_acquire(&c->on) ? c : NULL;
}

/* Puts the slots in place that a capture needs. STROBE_UNSUPPORTED: none writes. Others as strobe_hook_slots; nothing
 * stays in place then. */
enum strobe_status strobe_rhea_hook(bool main_only, bool io);
void strobe_rhea_hook_again(void);
enum strobe_status strobe_rhea_unhook(void);

#endif
