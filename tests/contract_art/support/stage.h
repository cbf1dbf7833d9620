/* Scenes of a few threads that wait for each other in monitors, parks and collections of Java, under capture. The
 * queries of the session find the waits of a thread, their durations and their wakers. */
#ifndef STROBE_CONTRACT_ART_SUPPORT_STAGE_H
#define STROBE_CONTRACT_ART_SUPPORT_STAGE_H

#include "tests/contract_art/support/capture.h"
#include "tests/contract_art/support/java.h"

/* STAGE_PATIENCE_MS is the timeout of a wait that another thread shall end, or disturb, in time. On two processors with
 * a load of 15, a thread came up to 50 ms late. */
enum { STAGE_PAUSE_MS = 30, STAGE_PATIENCE_MS = 600, STAGE_LEAST_NS = 20 * 1000 * 1000, STAGE_ACTORS = 4 };

struct stage;

/* A thread of the scene. `play` is called below a Java frame, so that the thread's samples have a stack. */
struct stage_actor {
    struct stage *s;
    const char *name;
    void (*play)(struct strobe_jni *env, struct stage *s);
    struct java_thread thread;
    _Atomic uint32_t tid; /* 0 = it has not begun */
    _Atomic int awaits;   /* the cue that it awaits */
    _Atomic bool pauses, ended;
};

struct stage {
    struct contract *c;
    strobe_jobject lock, other; /* with fat monitors: a thread has waited in each */
    struct capture k;
    struct stage_actor actor[STAGE_ACTORS];
    int actors;
    _Atomic int cue;
};

/* Begins the capture. Returns false when the case has failed. */
bool stage_opens(struct contract *c, struct stage *s);
bool stage_opens_by(struct contract *c, const struct strobe_inline_hooker *hooker, struct stage *s);

/* Starts a thread that calls `play`. */
struct stage_actor *stage_enters(struct stage *s, const char *name, void (*play)(struct strobe_jni *, struct stage *));

/* Waits until the scene's cue is at least `cue`. */
void stage_await(const struct stage *s, int cue);

/* Waits until the thread of the scene with this name is in a wait of this kind. */
void stage_await_wait(const struct stage *s, const char *who, enum strobe_kind kind);

/* Sleeps, after all other threads of the scene have come to rest: in a wait that the session has, in a pause, at the
 * end, or until a later cue. So a wait that another thread ends after the pause is as long as the pause, however late
 * the threads run. */
void stage_pause(int ms);

/* Waits until all threads have ended, and ends the capture. */
void stage_closes(struct stage *s);

struct stage_found {
    const struct stage *s;
    uint32_t thread;
    enum strobe_kind kind;            /* of the scope */
    struct strobe_record scope, wake; /* the longest scope, and the WAKE record at its end */
    int scopes, wakes;
};

/* Finds the longest wait of a kind by the thread named `who`. Fails the case when it is shorter than STAGE_LEAST_NS. */
struct stage_found stage_look(const struct stage *s, const char *who, enum strobe_kind kind);

/* Fail the case unless the WAKE record of that wait names `waker`, or names no waker. */
void stage_expect_waker(const struct stage *s, const char *who, enum strobe_kind kind, const char *waker);
void stage_expect_nobody(const struct stage *s, const char *who, enum strobe_kind kind);

#endif
