/* Records the calling process: starts and stops a capture, and reports sections and counters of the program's own.
 *
 *   struct strobe_error error;
 *   if (strobe_start(&(struct strobe_capture_options){.session_path = "app.strobe"}, &error) != STROBE_OK)
 *       fprintf(stderr, "not recorded: %s\n", error.text);
 *   ...
 *   strobe_begin("load level");
 *   load_level();
 *   strobe_end();
 *   ...
 *   strobe_stop();
 *
 * Read the session with session.h, convert it with trace.h, or use `strobe report app.strobe`.
 *
 * Life of a capture:
 *
 *   IDLE --strobe_start--> RUNNING <--strobe_pause, strobe_resume--> PAUSED
 *                          RUNNING, PAUSED --strobe_stop, end of the process, exec--> STOPPED
 *                          STOPPED --strobe_start--> RUNNING
 *
 * One capture runs at a time. A child of fork is not captured. After a failure the app runs on unchanged. C11, C++.
 *
 * Linux: for programs that are linked dynamically. The library records blocking calls because its functions take the
 * place of the C library's: link it before other libraries (`pkg-config --libs strobe-capture`). A library that is
 * opened by dlopen does not take their place; strobe_start then refuses. A child that was
 * forked after strobe_start cannot be captured; a child that was forked before it can. Under `strobe record` the
 * program is captured already: strobe_start then returns STROBE_EXISTS, strobe_stop returns STROBE_NO_ENTRY and does
 * not end that capture, and the other functions act on it. After strobe_start the library allocates from the program's
 * heap only when the program starts a thread, and takes no lock but the dynamic linker's, briefly, to look for loaded
 * libraries. It has one thread of its own, and one more
 * for a control server, which do not keep the process alive, and uses one real-time signal.
 *
 * Android: System.loadLibrary("strobe") loads the library. strobe_start and strobe_stop are called by a thread that is
 * attached to the runtime. The Java class strobe.Strobe has the same functions for Java and Kotlin.
 *
 * iOS: the app links the library. Swift calls the functions through the module `Strobe` (make xcframework). */
#ifndef STROBE_INCLUDE_STROBE_CAPTURE_H
#define STROBE_INCLUDE_STROBE_CAPTURE_H

#include "status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All zeros, except for the path: the defaults. */
struct strobe_capture_options {
    const char *session_path; /* the file that the capture writes; created by strobe_start. With `flight` it may be
                                 NULL: the session is then in memory only */
    int replace;              /* overwrite a file that exists */
    int paused;               /* begin as PAUSED */
    int keep_oldest;          /* when the session is full, drop new samples; else overwrite the oldest */
    uint64_t interval_ns;     /* CPU time between two samples of a thread; 0 = 1 ms, with `flight` 10 ms; at least
                                 50000 */
    uint32_t records_max;     /* capacity of the session, at 64 bytes a record; 0 = 262144; at least 1024 */
    const char *control;      /* name of an abstract Unix socket: a server there controls the capture; NULL = none */
    int control_port;         /* the same on 127.0.0.1; -1 = a free port; 0 = none */
    const char *flight;       /* the configuration of a flight recorder, see strobe_dump; NULL = none */
};

/* The control server, off unless an option asks for it. It is a thread of the library that serves HTTP/1.1:
 *
 *   curl --abstract-unix-socket NAME http://strobe/status      Linux, Android
 *   curl -K PATH.control http://strobe/status                  TCP: the file beside the session has port and token
 *
 *   GET  /status                    state, features, losses, sizes, as JSON
 *   POST /start                     begins another capture, after a stop. The body has options as in STROBE_START;
 *                                   without path=, the session replaces the last one
 *   POST /stop  /pause  /resume     as the functions below
 *   GET  /session  /session/ID      the session, consistent also while the capture goes on; ?last=5s: its last 5 s
 *   POST /snapshot?last=5s          the same
 *   POST /dump                      asks the flight recorder for a dump; /status then counts it, and has its cause
 *
 * Clients: on the socket, processes of the same user and of root, and Android's shell if the app is debuggable; by TCP,
 * processes that send the token. The server runs until the process ends. A later start that asks for a server leaves
 * the one that runs as it is. A forked child has no server. */

/* Creates the session, with its disk space reserved, and begins a capture of all threads of the process. Threads that
 * exist already are recorded from their first hooked call on, for example an allocation, a lock or a blocking call. A
 * thread that only computes is recorded within some milliseconds. On failure nothing has changed, and the text of
 * `error` (may be NULL) names the file or the reason.
 *
 *   STROBE_EXISTS       the file exists, and options->replace is 0; the process is or was captured; the name or the
 *                       port of the control server is taken
 *   STROBE_BAD_INPUT    options out of range; no path
 *   STROBE_IO           the file cannot be created: full disk, no permission, ...; errno holds the reason
 *   STROBE_NO_MEMORY
 *   STROBE_UNSUPPORTED  Linux: the library's functions do not take the place of the C library's, see above; a child
 *                       forked after strobe_start; a thread under seccomp. Android: no runtime, one of an unknown
 *                       level, or a thread that is not attached to it
 *
 * Any thread, not in a signal handler. */
STROBE_API enum strobe_status strobe_start(const struct strobe_capture_options *options, struct strobe_error *error);

/* Ends the capture and closes the session. No sample is taken after the return; the library's thread has ended.
 *
 *   STROBE_NO_ENTRY     no capture is RUNNING or PAUSED
 *   STROBE_LATE         a thread stays inside the library: the session is complete but not marked closed
 *   STROBE_UNSUPPORTED  Android: the thread is not attached to the runtime; the capture runs on
 *
 * Any thread, not in a signal handler. */
STROBE_API enum strobe_status strobe_stop(void);

/* strobe_pause stops the recording, and strobe_resume continues it. Events between the two calls are counted and not
 * recorded. STROBE_NO_ENTRY: no capture. Pausing a paused capture and resuming a running one are no errors. Any
 * context. */
STROBE_API enum strobe_status strobe_pause(void);
STROBE_API enum strobe_status strobe_resume(void);

enum strobe_capture_state {
    STROBE_CAPTURE_IDLE,
    STROBE_CAPTURE_RUNNING,
    STROBE_CAPTURE_PAUSED,
    STROBE_CAPTURE_STOPPED,
};

/* Sums over all threads so far. Threads go on meanwhile: the numbers are not of one instant. */
struct strobe_capture_status {
    enum strobe_capture_state state;
    uint32_t threads;       /* that were recorded, ended ones included */
    uint64_t samples;       /* taken */
    uint64_t lost;          /* samples: overwritten by later ones, or refused by the ring */
    uint64_t annotations;   /* sections' begins and ends and values of counters that were recorded */
    uint64_t session_bytes; /* size of the session file; its untouched parts take no disk space where the file system
                               supports holes and the capture has ended */
};

/* Any context. `out` is all zeros when no capture was started. */
STROBE_API void strobe_get_status(struct strobe_capture_status *out);

/* Names the calling thread, as pthread_setname_np does: at most 15 bytes, the rest is cut. Any context. */
STROBE_API void strobe_set_thread_name(const char *name);

/* Begins a section of the calling thread, and ends the one begun last. Sections nest. Traces show them on tracks beside
 * the thread's. A name has at most 126 bytes, the rest is cut; equal names are stored once. What stands before ": " in
 * a name, as `net` in "net: fetch", is the section's category: viewers give one color to each category. Without a
 * capture, or while it is paused, the functions return at once. They take no lock and no memory, and keep errno. Any
 * thread, also in a signal handler. */
STROBE_API void strobe_begin(const char *name);
STROBE_API void strobe_end(void);

/* Reports the value of a counter of the process, or of a counter of the calling thread, from now on. Threads may have
 * counters of the same name: each has a track beside its thread. Name and context as for strobe_begin. */
STROBE_API void strobe_counter(const char *name, int64_t value);
STROBE_API void strobe_thread_counter(const char *name, int64_t value);

/* ---- The flight recorder
 *
 * With options->flight the capture runs for as long as the app does. It keeps the newest records in memory. When a
 * trigger asks for it, a thread of the library writes a dump: a session with the last seconds. `strobe report
 * --findings` says what caused the dump, which thread was blocked, and which thread held the lock.
 *
 *   stall     the main thread is blocked: busy with one message of its loop, or waiting for a lock, for `stall`
 *   anr       Android: SIGQUIT, when strobe_start was called by the main thread. The signal is passed on
 *   crash     Linux, Android: SEGV, BUS, ABRT, ILL, FPE, TRAP. The signal is passed on after at most 2 s; best effort
 *   call      strobe_dump
 *   control   POST /dump
 *
 * options->flight is the path of a text file, which an app can fetch from its server. The lines below are its defaults;
 * only `folder` is required:
 *
 *   folder = /data/data/com.example.app/files/dumps
 *   enabled = yes
 *   triggers = stall anr crash call control
 *   stall = 2s
 *   last = 5s
 *   dump-bytes = 8M             most bytes of a dump; a longer one reaches back less far
 *   dumps-a-day = 10            limits of a day (UTC), which survive a restart
 *   bytes-a-day = 64M
 *   dumps = 20                  limits of the folder: the oldest dumps are deleted
 *   bytes = 128M
 *   free-bytes = 256M           nothing is written when the disk would have less free
 *   leave-out = SM-G900* @ 28-29   models, and levels of the system, that are not captured; may be repeated
 *
 * A line that is not valid makes strobe_start fail with STROBE_BAD_INPUT and one line that names it. On a device that
 * is left out, and with `enabled = no`, strobe_start returns STROBE_UNSUPPORTED and nothing is captured. Dumps are
 * named dump-00.strobe to dump-99.strobe; an app may move or delete them at any time. While nothing happens, the
 * recorder's thread sleeps and no file is read or written. */

/* Asks the flight recorder for a dump, and returns at once. STROBE_NO_ENTRY: there is no recorder. STROBE_UNSUPPORTED:
 * its configuration does not have the trigger `call`. Any context, also in a signal handler. */
STROBE_API enum strobe_status strobe_dump(void);

struct strobe_flight_status {
    int armed;            /* 1: there is a recorder, and it waits for triggers */
    uint32_t dumps;       /* written since strobe_start */
    uint32_t refused;     /* triggers without a dump, because of a limit or a failure */
    const char *writing;  /* the trigger of the dump that is being written, such as "anr"; "" = none */
    const char *cause;    /* the trigger of the last dump; "" = there was none yet */
    uint64_t bytes_today; /* of the dumps that count for bytes-a-day */
    char last[640];       /* the path of the last dump, or why the last trigger has none; "" = no trigger yet */
};

/* Any thread. */
STROBE_API void strobe_get_flight_status(struct strobe_flight_status *out);

#ifdef __cplusplus
}
#endif

#endif
