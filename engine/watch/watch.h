/* Watchers find the parts of a capture that a developer should look at. A watcher is a small state machine. It takes
 * events in time order and reports findings: a message that took too long, frames that were dropped, a slow start.
 *
 * Events are the same whatever captured them: struct strobe_watch_event. An event source produces them: a timeline
 * built from samples or from calls (watch_timeline.h), the lab's true timeline (sim/score), or a text file of events
 * (watch_text.h). struct strobe_watch_view states how precise the event source is. Every finding carries the limits of
 * that view: a watcher of samples cannot claim that a call of 3 ms did not happen.
 *
 * Watchers use looper.h (messages and their history), blame.h (calls of the main thread) and context.h (what they
 * share).
 *
 *   hang       messages that lag (2 s) or are an ANR (5 s), by timers on another thread              hang.h
 *   evil       messages of 700 ms or more, with the calls to blame                                   evil.h
 *   frames     drop levels, frame rate by two formulas                                               frames.h
 *   idle       idle handlers and touches that lag                                                    idle.h
 *   startup    application, first screen, cold start, warm start                                     startup.h
 *   anr        SIGQUIT, whether it was an ANR, deadlocks in the text of a thread dump                anr.h
 *   priority   nice value and timer slack of the main thread                                         priority.h
 *   block      iOS: the main run loop is blocked; growing check intervals, daily limit               block.h
 *
 * Rules, constants and their known defects come from Tencent Matrix TraceCanary and WCCrashBlockMonitor (3b8293bd).
 * Where a rule of Matrix is defective, Strobe uses the corrected rule, and a test names the defect.
 *
 * Times are in ns on one clock. The functions allocate memory and are not thread-safe. Reading half only. */
#ifndef STROBE_WATCH_WATCH_H
#define STROBE_WATCH_WATCH_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum strobe_watch_what {
    STROBE_WATCH_PROCESS,       /* comes first. text = process name, value = its pid, 0 = unknown */
    STROBE_WATCH_MESSAGE_BEGIN, /* of the loop of `thread`: text = printed text of the message, or its method; when_ns =
                                   due time */
    STROBE_WATCH_MESSAGE_END,
    STROBE_WATCH_IDLE_BEGIN, /* an idle handler: text = its class */
    STROBE_WATCH_IDLE_END,
    STROBE_WATCH_CALL_BEGIN, /* of any thread: text = method */
    STROBE_WATCH_CALL_END,
    STROBE_WATCH_FRAME,          /* a frame ended: frame */
    STROBE_WATCH_TOUCH_BEGIN,    /* input arrived: value = descriptor, code = its bytes (0 = unknown) */
    STROBE_WATCH_TOUCH_END,      /* input was answered: value = descriptor */
    STROBE_WATCH_APP_BEGIN,      /* the first sign of the app */
    STROBE_WATCH_COMPONENT,      /* the system asks for a component: code = handler message, text = payload's class */
    STROBE_WATCH_ACTIVITY,       /* code = enum strobe_activity, text = class */
    STROBE_WATCH_FOREGROUND,     /* code = 1 in front, 0 behind */
    STROBE_WATCH_SIGNAL,         /* code = signal, value = sender's pid */
    STROBE_WATCH_NOT_RESPONDING, /* the system reports that a process does not respond: value = its pid */
    STROBE_WATCH_THREADS_TEXT,   /* text = a dump of threads, as ART writes it */
    STROBE_WATCH_PRIORITY,       /* of the main thread: code = 0 nice, 1 timer slack in ns; value = new value */
    STROBE_WATCH_CPU,            /* value = CPU use of the process since the last such event, in 1/1000 of one core */
    STROBE_WATCH_SAMPLE,         /* of the main thread: stack */
    STROBE_WATCH_LOOP,           /* run loop of iOS: code = enum strobe_loop_activity */
    STROBE_WATCH_TICK,           /* time has passed; timers of the watching thread run */
    STROBE_WATCH_END,            /* comes last */
};

enum strobe_activity {
    STROBE_ACTIVITY_CREATED,
    STROBE_ACTIVITY_FOCUSED,
    STROBE_ACTIVITY_PAUSED,
    STROBE_ACTIVITY_DESTROYED
};
enum strobe_loop_activity {
    STROBE_LOOP_ENTRY,
    STROBE_LOOP_BEFORE_TIMERS,
    STROBE_LOOP_BEFORE_SOURCES,
    STROBE_LOOP_BEFORE_WAITING,
    STROBE_LOOP_AFTER_WAITING,
    STROBE_LOOP_EXIT
};

/* A frame: the main thread's work for it, and the time until it was shown. Phases are durations in ns. The value 0
 * means unknown for a phase, intended_ns and total_ns. */
struct strobe_watch_frame {
    uint64_t intended_ns; /* the vsync that the frame was intended for */
    uint64_t begin_ns, end_ns;
    uint64_t input_ns, animation_ns, traversal_ns;
    uint64_t total_ns; /* from the vsync until the frame was handed over, including the wait for earlier frames */
    bool is_vsync;     /* false: the end of a message that was no frame */
};

/* Innermost frame first. `frames` are numbers that identify functions. `names` has the name of each frame for display,
 * or NULL when it is unknown. */
struct strobe_watch_stack {
    const uint64_t *frames;
    uint32_t count;
    const char *const *names;
};

struct strobe_watch_event {
    enum strobe_watch_what what;
    uint64_t time_ns;
    uint32_t thread; /* number of the thread; the main thread's is 0 */
    uint32_t code;
    int64_t value;
    uint64_t when_ns;
    uint32_t node;    /* calls: path in the event source's function tree; 0 = none */
    const char *text; /* never NULL; valid during the call only */
    const struct strobe_watch_frame *frame;
    const struct strobe_watch_stack *stack;
};

/* How precise an event source is. */
struct strobe_watch_view {
    bool sampled;             /* true: calls are known from samples only; false: every call is known */
    uint64_t resolution_ns;   /* error bound of each time */
    uint64_t unseen_below_ns; /* calls shorter than this may be missing; 0 = no call is missing */
    bool knows_due;           /* messages have when_ns, and frames have intended_ns */
    uint32_t refresh_hz;      /* of the display; 0 or above 1000 = unknown, which counts as 60 */
};

enum strobe_finding_kind {
    STROBE_FINDING_EVIL,        /* "evil-method" */
    STROBE_FINDING_LAG,         /* "lag" */
    STROBE_FINDING_ANR,         /* "anr" */
    STROBE_FINDING_IDLE_LAG,    /* "idle-lag" */
    STROBE_FINDING_TOUCH_LAG,   /* "touch-lag" */
    STROBE_FINDING_FRAMES,      /* "frames": rate and levels of a span of time */
    STROBE_FINDING_DROP,        /* "frame-drop": one frame that dropped 3 or more */
    STROBE_FINDING_STARTUP,     /* "startup" */
    STROBE_FINDING_PRIORITY,    /* "priority" */
    STROBE_FINDING_SIGQUIT_ANR, /* "sigquit-anr" */
    STROBE_FINDING_DEADLOCK,    /* "deadlock" */
    STROBE_FINDING_BLOCK,       /* "main-block" */
    STROBE_FINDING_DUMP,        /* "dump-cause": not of a watcher, see dump_cause.h */
    STROBE_FINDING_KINDS
};
extern const char *const strobe_finding_name[STROBE_FINDING_KINDS];

/* Name and number, as reports show them: "cost_ms" 812, "fps" 58.3, "drop_high" 2. */
struct strobe_finding_value {
    const char *key;
    double value;
};

struct strobe_finding {
    enum strobe_finding_kind kind;
    uint64_t begin_ns, end_ns; /* an instant: equal */
    uint32_t thread;           /* the thread of the problem */
    const char *scene;         /* the activity in the foreground, or "" */
    const char *blame;         /* method, handler or other cause of the problem; "" = unknown */
    const char *stack;         /* lines of "depth,method,count,ms" (outermost first), or ""; see matrix_stack.h */
    const char *key;           /* equal for findings of the same cause; "" = none */
    const char *unseen;        /* what this capture cannot show about the finding; "" = nothing */
    struct strobe_finding_value values[20];
    size_t value_count;
};

/* Takes findings as watchers make them. No finding ends after the event that caused it. Texts are valid during the call
 * only. */
struct strobe_finding_sink {
    void (*found)(void *ctx, const struct strobe_finding *f);
    void *ctx;
};

/* One watcher. `take_event` gets every event that is not in `ignored`, in time order. `close` frees the watcher. It
 * returns STROBE_IO when memory ran out at any time, else STROBE_OK. Besides its own state, a watcher uses only the
 * context that it was opened with (context.h): options, view, sink, scene, calls of the main thread. The context must
 * outlive the watcher. */
struct strobe_watcher {
    void (*take_event)(struct strobe_watcher *w, const struct strobe_watch_event *e);
    enum strobe_status (*close)(struct strobe_watcher *w);
    uint32_t ignored; /* one bit for each strobe_watch_what that the watcher does not need; 0 = it needs all */
};
struct strobe_watch_context;

/* Opens a watcher. Returns NULL when memory runs out. Each watcher's header declares its own function. watch.c has the
 * table of all of them. */
typedef struct strobe_watcher *strobe_watch_open_fn(struct strobe_watch_context *c);

/* Thresholds; a value equal to the threshold is reported. strobe_watch_defaults sets the thresholds of Matrix. A
 * threshold of 0 turns the finding off. */
struct strobe_watch_options {
    uint64_t evil_ns;           /* 700 ms */
    uint64_t lag_ns;            /* 2 s */
    uint64_t anr_ns;            /* 5 s */
    uint64_t idle_lag_ns;       /* 2 s */
    uint64_t touch_lag_ns;      /* 2 s */
    uint64_t cold_ns, warm_ns;  /* 10 s, 4 s */
    uint64_t block_ns;          /* 2 s */
    uint32_t drop[4];           /* dropped frames at which the level becomes normal (3), middle (9), high (24), frozen
                                   (42) */
    uint32_t block_limit;       /* of main-block findings a day: 100 */
    uint64_t frames_window_ns;  /* 10 s, summed over the duration of the frames */
    uint64_t frame_interval_ns; /* 0 = by the display's refresh rate */
    const char *splash;         /* classes of splash activities, separated by ';'; NULL or "" = none */
};

/* Sets the thresholds of Matrix. Any context. */
void strobe_watch_defaults(struct strobe_watch_options *o);

/* Opens a watcher that passes each event to all watchers. A time before the last event's time counts as the last
 * event's time. Returns NULL when memory runs out. */
struct strobe_watcher *strobe_watch_all(const struct strobe_watch_options *options,
                                        const struct strobe_watch_view *view, struct strobe_finding_sink sink);

#endif
