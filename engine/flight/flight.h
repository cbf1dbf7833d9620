/* The flight recorder: writes the last seconds of a capture to a bounded file when a trigger asks for it.
 *
 * A thread of the engine waits for triggers and writes the dumps. No thread of the app writes one. While it waits it
 * uses no processor time and no file:
 *
 *   OFF ----> ARMED     strobe_flight_arm, before the thread starts
 *   ARMED --> OFF       the thread, at its end (strobe_flight_ask_to_end)
 *
 * `asked` holds a bit for each trigger that asks for a dump, and STROBE_FLIGHT_END and _RECHECK. Any thread sets bits,
 * in any context, also in signal handlers; the recorder's thread takes them. It sets `crash_done` to 1 when it has
 * finished with a trigger CRASH.
 *
 * Several triggers at one time cause one dump, of the most urgent one: crash, anr, stall, control, call.
 *
 * A dump is a copy of the session (session_copy.h) with its cause in the header. A copy that is longer than dump-bytes
 * reaches back half as far, and so on. What the runtime must be asked for, such as names of methods, may take long when
 * the app hangs. The thread asks after the dump is written, and then replaces the dump by a complete one.
 *
 * An app that is about to die waits for the dump in the handler of the signal, for STROBE_FLIGHT_CRASH_NS at most. The
 * handler only stores words, wakes the thread and waits. That is best effort: when the crashed thread holds a lock of
 * the kernel's memory map, or the engine itself has crashed, there is no dump. */
#ifndef STROBE_FLIGHT_FLIGHT_H
#define STROBE_FLIGHT_FLIGHT_H

#include "engine/flight/flight_config.h"
#include "engine/flight/stall.h"
#include "engine/store/session.h"

#define STROBE_FLIGHT_CRASH_NS UINT64_C(2000000000)
#define STROBE_FLIGHT_END      (1u << 31)
#define STROBE_FLIGHT_RECHECK  (1u << 30)

/* What the recorder needs of its surroundings. Functions without another note: the recorder's thread. */
struct strobe_flight_host {
    /* Pins the session that is being written; false: there is none. At most one pin at a time. */
    bool (*pin)(const struct strobe_session **out);
    void (*unpin)(void);
    uint64_t (*ticks)(void);       /* now, in ticks of the session. Any */
    uint64_t (*realtime_ns)(void); /* CLOCK_REALTIME */
    /* Waits while *word is `value`, for `ms` at most (-1: without a limit); may return early. Any. */
    void (*wait)(strobe_a32 *word, uint32_t value, int ms);
    void (*wake)(strobe_a32 *word); /* ends all waits for the word. Any, also in signal handlers */
    /* Returns how long the thread may wait, in ms: -1 = without a limit, STROBE_FLIGHT_NO_MORE = it ends. NULL: -1. */
    int (*idle_ms)(void);
    /* Finds what the thread with this index waits for: the object, and the thread id of the lock's holder, or 0. NULL:
     * not known here. */
    void (*blocked_on)(uint32_t thread, uint64_t *what, uint32_t *holder_tid);
    /* Brings names of threads in the session up to date. Waits for nothing. NULL: they are. */
    void (*refresh)(void);
    /* Adds to the session what the runtime must be asked for. Returns true when it has added something. May block for
     * as long as the app does. NULL: there is nothing to add. */
    bool (*complete)(void);
};
enum { STROBE_FLIGHT_NO_MORE = -2, STROBE_FLIGHT_LAST_WORDS = 80, STROBE_FLIGHT_DAY_SHIFT = 44 };

/* The state of the recorder. Counts are since its start. */
struct strobe_flight_counts {
    uint32_t dumps, refused;            /* written; not written because of a limit or a failure */
    enum strobe_trigger writing, cause; /* of the dump that is being written, and of the last one; or NONE */
    uint64_t bytes_today;               /* of dumps, as the limit of the day counts them */
};

struct strobe_flight {
    struct strobe_flight_config config;
    const struct strobe_flight_host *host;
    strobe_a32 armed, asked, crash_done;
    strobe_a32 dumps, refused;
    /* enum strobe_trigger: of the dump that is being written, and of the last one; or NONE */
    strobe_a32 writing, cause;
    strobe_a64 today;             /* day << STROBE_FLIGHT_DAY_SHIFT | bytes of that day's dumps */
    strobe_a64 stall_begin_ticks; /* stored by the sampler before it sets the bit of a stall */
    strobe_a32 crash_number, crash_tid;
    strobe_a32 thread;         /* id of the recorder's thread: its own crash must not wait for it; 0 = not yet known */
    struct strobe_stall stall; /* sampler only */
    strobe_a32 last_version;   /* of `last`; odd while the recorder's thread writes it */
    strobe_a64 last[STROBE_FLIGHT_LAST_WORDS]; /* a text: what became of the last trigger */
};

/* Prepares the recorder for a capture that is about to begin. The memory of a recorder must not move, and outlives its
 * thread. Start only. */
void strobe_flight_arm(struct strobe_flight *f, const struct strobe_flight_config *config,
                       const struct strobe_flight_host *host);

/* The work of the recorder's thread. `tid`: its id. */
void strobe_flight_run(struct strobe_flight *f, uint32_t tid);

/* Asks the thread to end; a dump that is being written is finished first. Any thread. */
void strobe_flight_ask_to_end(struct strobe_flight *f);

/* Lets the thread call idle_ms. Any thread. */
void strobe_flight_recheck(struct strobe_flight *f);

/* Asks for a dump, and returns at once. Returns false when the recorder is not armed, or its configuration does not
 * have this trigger. Any context, also in signal handlers. */
bool strobe_flight_ask(struct strobe_flight *f, enum strobe_trigger trigger);

/* Reports that the calling thread, with this id, got a signal that will end the process. Waits for the dump. In a
 * signal handler; keeps errno. */
void strobe_flight_crashed(struct strobe_flight *f, int number, uint32_t tid);

/* Looks whether the main thread is blocked, after each pass of the sampler; asks for a dump when it is. Sampler. */
void strobe_flight_look(struct strobe_flight *f, const struct strobe_session *session, uint64_t now);

/* `realtime_ns`: now, of CLOCK_REALTIME. Any context. */
struct strobe_flight_counts strobe_flight_count(const struct strobe_flight *f, uint64_t realtime_ns);

/* Copies one line about the last trigger: the path of its dump, or why there is none; "" = there was none yet. Any
 * thread. */
void strobe_flight_last(const struct strobe_flight *f, char *out, size_t bytes);

#endif
