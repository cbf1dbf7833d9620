/* Watchers: what in a capture is worth a person's time. A watcher is a small state machine that is told what happened,
 * in time order, and says what it found: a message that took too long, frames that were dropped, a start that was slow.
 *
 * They stand on looper.h (messages and their history), blame.h (calls of the main thread), context.h (what they share).
 *
 * What is told is the same whoever captured it: struct strobe_watch_event. Those who tell are the adapters: of a
 * timeline built from samples or from calls (watch_timeline.h), of the lab's truth (sim/score), of a file of events.
 * `struct strobe_watch_view` says how well the teller could see, and every finding carries that on: a watcher of
 * samples can't say that a call of 3 ms did not happen.
 *
 *   hang       messages that lag (2 s), are an ANR (5 s), by timers on another thread                 hang.h
 *   evil       messages of 700 ms or more, with the calls to blame                                    evil.h
 *   frames     drop levels, frame rate by two formulas                                                frames.h
 *   idle       idle handlers and touches that lag                                                     idle.h
 *   startup    application, first screen, cold, warm                                                  startup.h
 *   anr        SIGQUIT, whether it was an ANR, deadlocks of the threads' text                         anr.h
 *   priority   main thread's priority and timer slack                                                 priority.h
 *   block      iOS: the main run loop is blocked; annealing, daily limit                              block.h
 *
 * Source of rules, constants and their known defects: Tencent Matrix TraceCanary and WCCrashBlockMonitor (3b8293bd),
 * as studied. Where an upstream rule is defective, ours is the mended one, and the defect is a named test.
 *
 * Times in ns on one clock. Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_WATCH_WATCH_H
#define STROBE_WATCH_WATCH_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum strobe_watch_what {
    STROBE_WATCH_PROCESS,       /* first of all: text = its name, value = its pid, 0 = not known */
    STROBE_WATCH_MESSAGE_BEGIN, /* of `thread`'s loop: text = what is printed of it, or its method; when_ns = due */
    STROBE_WATCH_MESSAGE_END,
    STROBE_WATCH_IDLE_BEGIN, /* an idle handler: text = its class */
    STROBE_WATCH_IDLE_END,
    STROBE_WATCH_CALL_BEGIN, /* of any thread: text = method */
    STROBE_WATCH_CALL_END,
    STROBE_WATCH_FRAME,          /* a frame ended: frame */
    STROBE_WATCH_TOUCH_BEGIN,    /* input arrived: value = descriptor, code = its bytes (0 = not told), and */
    STROBE_WATCH_TOUCH_END,      /* was answered: value = descriptor */
    STROBE_WATCH_APP_BEGIN,      /* the first thing of the app that is seen */
    STROBE_WATCH_COMPONENT,      /* the system asks for a component: code = handler message, text = payload's class */
    STROBE_WATCH_ACTIVITY,       /* code = enum strobe_activity, text = class */
    STROBE_WATCH_FOREGROUND,     /* code = 1 in front, 0 behind */
    STROBE_WATCH_SIGNAL,         /* code = signal, value = sender's pid */
    STROBE_WATCH_NOT_RESPONDING, /* the system says so of a process: value = its pid */
    STROBE_WATCH_THREADS_TEXT,   /* text = a dump of threads, as ART writes it */
    STROBE_WATCH_PRIORITY,       /* of main: code = 0 nice, 1 timer slack ns; value = new */
    STROBE_WATCH_CPU,            /* value = CPU use of the process in 1/1000 of one core since the last */
    STROBE_WATCH_SAMPLE,         /* of main: stack */
    STROBE_WATCH_LOOP,           /* run loop of iOS: code = enum strobe_loop_activity */
    STROBE_WATCH_TICK,           /* nothing but that time has passed: timers of the watching thread look */
    STROBE_WATCH_END,            /* last of all */
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

/* A frame: what the main thread did for it, and how long it took to be shown. Phases are spans in ns; a phase that is
 * not known is 0, and so are intended_ns and total_ns. */
struct strobe_watch_frame {
    uint64_t intended_ns; /* vsync that it was meant for */
    uint64_t begin_ns, end_ns;
    uint64_t input_ns, animation_ns, traversal_ns;
    uint64_t total_ns; /* from vsync until it was handed over, what it waited for frames before it included */
    bool is_vsync;     /* else: the end of a message that was no frame */
};

/* Innermost first. Frames are told apart by number; names, by frame, are for people, and NULL where none is known. */
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
    uint32_t node;    /* calls: their path in the teller's function tree; 0 = none */
    const char *text; /* never NULL; good during the call only */
    const struct strobe_watch_frame *frame;
    const struct strobe_watch_stack *stack;
};

/* How well a teller could see. */
struct strobe_watch_view {
    bool sampled;             /* calls are known by samples only, else each is known */
    uint64_t resolution_ns;   /* a time it tells may be off by so much */
    uint64_t unseen_below_ns; /* calls shorter than this may be missing; 0 = none is */
    bool knows_due;           /* when_ns of messages, intended_ns of frames */
    uint32_t refresh_hz;      /* of the display; 0 or above 1000 = not known, 60 */
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
    uint32_t thread;           /* where it was found */
    const char *scene;         /* the activity in front, or "" */
    const char *blame;         /* what to blame: a method, a handler, ...; "" = not known */
    const char *stack;         /* lines of "depth,method,count,ms" (outermost first), or ""; see matrix_stack.h */
    const char *key;           /* equal for findings of one cause; "" = none */
    const char *unseen;        /* what this capture could not have seen that matters here; "" = nothing */
    struct strobe_finding_value values[20];
    size_t value_count;
};

/* Takes findings as they are made; none ends after the event that made it. Texts are good during the call only. */
struct strobe_finding_sink {
    void (*found)(void *ctx, const struct strobe_finding *f);
    void *ctx;
};

/* One watcher. `tell` gets every event it is not deaf to, in time order; `close` frees it. The first lack of memory is
 * remembered, and is what close returns. All that a watcher may use beside its own state (options, view, sink, the
 * scene, the calls of the main thread) is in the context it is opened with (context.h), which lives longer. */
struct strobe_watcher {
    void (*take_event)(struct strobe_watcher *w, const struct strobe_watch_event *e);
    enum strobe_status (*close)(struct strobe_watcher *w);
    uint32_t ignored; /* a bit for each strobe_watch_what it has no use for; 0 = wants all */
};
struct strobe_watch_context;

/* Opens a watcher; NULL: out of memory. Each part's header declares its own; watch.c has the table of them all. */
typedef struct strobe_watcher *strobe_watch_open_fn(struct strobe_watch_context *c);

/* Thresholds, met when reached; strobe_watch_defaults sets those of Matrix. A threshold of 0 finds nothing. */
struct strobe_watch_options {
    uint64_t evil_ns;           /* 700 ms */
    uint64_t lag_ns;            /* 2 s */
    uint64_t anr_ns;            /* 5 s */
    uint64_t idle_lag_ns;       /* 2 s */
    uint64_t touch_lag_ns;      /* 2 s */
    uint64_t cold_ns, warm_ns;  /* 10 s, 4 s */
    uint64_t block_ns;          /* 2 s */
    uint32_t drop[4];           /* dropped frames from which on a frame is normal 3, middle 9, high 24, frozen 42 */
    uint32_t block_limit;       /* of main-block findings a day: 100 */
    uint64_t frames_window_ns;  /* 10 s, of the frames' own time */
    uint64_t frame_interval_ns; /* 0 = that of the display's rate */
    const char *splash;         /* classes of splash activities, separated by ';'; NULL or "" = none */
};
void strobe_watch_defaults(struct strobe_watch_options *o);

/* All watchers together: tells each event to each. A time before the last event's counts as the last event's. NULL:
 * out of memory. */
struct strobe_watcher *strobe_watch_all(const struct strobe_watch_options *options,
                                        const struct strobe_watch_view *view, struct strobe_finding_sink sink);

#endif
