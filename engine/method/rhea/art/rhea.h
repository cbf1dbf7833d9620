/* RheaTrace's capture on a device: an atrace proxy in front of libcutils, and events of the file calls of all loaded
 * libraries.
 *
 *   atrace_enabled_tags  exchanged at start, restored at stop unless another program has set other tags since
 *   atrace_marker_fd     when it is -1 (apps may not open the marker): set to -100, which is no descriptor
 *   write, __write_chk   slots of all libraries but this one. Text for the marker goes to the ring instead; calls with
 *                        other descriptors pass through
 *   atrace_begin_body, atrace_end_body
 *                        with main_only: a call of another thread ends there, before libcutils formats its text
 *   open, read, pread, readv, write, pwrite, fsync, fdatasync, sync and their checked and 64-bit variants
 *                        with io: a begin with a label before the call, an end after it (labels:
 *                        engine/method/rhea/atrace.h)
 *
 * All hooks are slots (hook.h). There is no hub and no list of frames for each thread: a proxy calls the original
 * itself and keeps nothing between begin and end. A call may therefore recurse, be left by longjmp, end its thread, or
 * have the hooks removed below it, to any depth. The log then lacks the end event, and repair adds it. The system calls
 * that a proxy makes itself bypass all hooks.
 *
 * Messages: begin and end go to the ring, and with `forward` also to the marker if there is a real one. Other messages
 * (asynchronous, counters) go on to a real marker. Threads of the engine itself (strobe_local.busy) are not recorded.
 *
 * A forked child keeps the hooks and writes nothing to its parent's ring.
 *
 * Source: RheaTrace btrace v1.0.1, profilo's atrace snooper, as studied. */
#ifndef STROBE_METHOD_RHEA_ART_RHEA_H
#define STROBE_METHOD_RHEA_ART_RHEA_H

#include "engine/backend/art/art.h"
#include "engine/base/error.h"
#include "engine/method/rhea/rhea_log.h"

/* Tags whose messages are recorded: graphics, view, webview, window and activity manager, app, resources, dalvik
 * (ATRACE_TAG_* of libcutils). */
#define STROBE_RHEA_TAGS (1u << 1 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 12 | 1u << 13 | 1u << 14)
enum { STROBE_RHEA_MAGIC_FD = -100, STROBE_RHEA_IO_LEAST = 1024 };

struct strobe_rhea_options {
    const char *ring_path; /* file to create for the ring; it outlives the process. NULL = memory alone */
    uint64_t slots;        /* requested number; see strobe_packet_ring_slots */
    uint64_t tags;         /* 0 = STROBE_RHEA_TAGS */
    bool main_only;
    bool io;
    uint32_t io_least; /* reads and writes of fewer bytes are not recorded; 0 = 1024, as in the original */
    bool forward;
    const char *cutils; /* NULL = "libcutils.so" */
};

/* Starts a capture. STROBE_EXISTS: a capture runs already, or the ring's file exists. STROBE_NO_ENTRY: the library does
 * not exist, or lacks a needed symbol. STROBE_UNSUPPORTED: no loaded library writes through slots. STROBE_IO: errno.
 * After an error the process is unchanged, and `error` has one line. */
STROBE_ART_API enum strobe_status strobe_rhea_start(const struct strobe_rhea_options *options,
                                                    struct strobe_error *error);

/* Hooks the slots of libraries that were loaded since the start. While a capture runs. */
STROBE_ART_API void strobe_rhea_hook_loaded(void);

/* Ends the capture, and restores tags, marker and slots. STROBE_EXISTS: another program has hooked a slot after Strobe;
 * this slot stays, and its calls still pass through the proxy. STROBE_IO: a slot could not be written. The ring stays,
 * so that it can be dumped. */
STROBE_ART_API enum strobe_status strobe_rhea_stop(void);

/* Writes the log (rhea_log.h) of the running or the last capture to an open file. STROBE_NO_ENTRY: there is no capture.
 * STROBE_IO: errno. One thread at a time. */
STROBE_ART_API enum strobe_status strobe_rhea_dump(int fd, uint32_t digits, struct strobe_rhea_log_stats *stats);

/* Frees the memory of an ended capture. A call that came before the end may still write there. The function therefore
 * keeps the addresses mapped, and frees pages and file. It does nothing without an ended capture. */
STROBE_ART_API void strobe_rhea_release(void);

/* Records an event of an instrumented method, by its name. The function does nothing when no capture runs. Any thread,
 * also in a signal handler. */
STROBE_ART_API void strobe_rhea_enter(const char *name);
STROBE_ART_API void strobe_rhea_leave(const char *name);
STROBE_ART_API void strobe_rhea_throw(const char *name);

/* ---- shared by rhea.c and rhea_hooks.c */

/* State that the proxies read. Each capture has a page of its own that is never freed. A call that begins before the
 * end of a capture therefore still finds the capture with which it began, also after another start. A forked child
 * finds zeroes. */
struct strobe_rhea_capture {
    strobe_a32 on;
    struct strobe_atrace atrace;
    int *marker_fd;
    uint64_t io_least;
    bool forward;
};
extern struct strobe_rhea_capture *strobe_rhea_newest; /* NULL: there was no capture yet */

/* Returns the running capture, or NULL. */
static inline struct strobe_rhea_capture *strobe_rhea_on(void)
{
    struct strobe_rhea_capture *c = __atomic_load_n(&strobe_rhea_newest, __ATOMIC_ACQUIRE);
    return c && strobe_load_acquire(&c->on) ? c : NULL;
}

/* Hooks the slots that a capture needs. STROBE_UNSUPPORTED: no slot of write is hooked. Other codes are those of
 * strobe_hook_slots. After an error no slot stays hooked. */
enum strobe_status strobe_rhea_hook(bool main_only, bool io);
void strobe_rhea_hook_again(void);
enum strobe_status strobe_rhea_unhook(void);

#endif
