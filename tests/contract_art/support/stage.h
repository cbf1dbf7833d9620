/* A stage for a few threads that wait for each other in Java's monitors, parks and collections, under capture, and what
 * the session then says of them: who waited in what, for how long, and who ended it. */
#ifndef STROBE_CONTRACT_ART_SUPPORT_STAGE_H
#define STROBE_CONTRACT_ART_SUPPORT_STAGE_H

#include "tests/contract_art/support/capture.h"
#include "tests/contract_art/support/java.h"

enum { STAGE_PAUSE_MS = 30, STAGE_LEAST_NS = 20 * 1000 * 1000, STAGE_ACTORS = 4 };

struct stage;

/* A thread whose part is played below a frame of Java, so that its samples have a stack. */
struct stage_actor {
    struct stage *s;
    const char *name;
    void (*play)(struct strobe_jni *env, struct stage *s);
    struct java_thread thread;
};

struct stage {
    struct contract *c;
    strobe_jobject lock, other; /* their monitors are fat, as those are that were ever waited in */
    struct capture k;
    struct stage_actor actor[STAGE_ACTORS];
    int actors;
    _Atomic int cue;
};

/* False: the case has failed. */
bool stage_opens(struct contract *c, struct stage *s);
bool stage_opens_by(struct contract *c, const struct strobe_inline_hooker *hooker, struct stage *s);
struct stage_actor *stage_enters(struct stage *s, const char *name, void (*play)(struct strobe_jni *, struct stage *));
void stage_await(const struct stage *s, int cue);
void stage_pause(int ms);

/* When all have played; the capture is over then. */
void stage_closes(struct stage *s);

struct stage_found {
    const struct stage *s;
    uint32_t thread;
    enum strobe_kind kind;            /* of the scope */
    struct strobe_record scope, wake; /* the longest scope, and the wake at its end */
    int scopes, wakes;
};

/* An actor's longest wait of a kind, which lasted STAGE_LEAST_NS. */
struct stage_found stage_look(const struct stage *s, const char *who, enum strobe_kind kind);
void stage_expect_waker(const struct stage *s, const char *who, enum strobe_kind kind, const char *waker);
void stage_expect_nobody(const struct stage *s, const char *who, enum strobe_kind kind);

#endif
