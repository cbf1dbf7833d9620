/* A scenario's Android runtime in the played process, and the engine in it. For sim/player only. */
#ifndef STROBE_SIM_PLAYER_ART_H
#define STROBE_SIM_PLAYER_ART_H

#include "engine/base/error.h"
#include "engine/method/netease/art/netease.h"
#include "sim/genuine/runtime.h"
#include "sim/player/play.h"

struct sim_art_method {
    strobe_jclass class;
    strobe_jmethod method;
};

/* Objects and classes are global references. */
struct sim_art_play {
    struct sim_art art;
    struct sim_art_method *methods; /* of the scenario */
    struct sim_art_method allocate;
    strobe_jobject thrown; /* what is thrown: always this one, so that a throw allocates nothing */
    strobe_jclass object, thread;
    strobe_jmethod wait, notify, notify_all, current, sleep;
    strobe_jobject unsafe, queue, binder;
    strobe_jmethod park, unpark, poll, transact;
    struct sim_art_method load;
    bool frees, unparks;                 /* the scenario does; else there is nothing to keep for it */
    _Atomic uint32_t kept;               /* objects by global references, of which a runtime has 51200 */
    int32_t (*call_binder)(void *actor); /* through another library's slot; NULL: that library is not there */
    void (*answer)(struct sim_actor *a); /* what is called out there takes a->latency_ns */
    bool captured, by_netease;
};

/* How the runtime and the engine come into the process: as they are (loader.c), or in virtual time
 * (sim/player/virtual).
 */
struct sim_real_loader {
    void (*prepare)(void *library); /* a fake runtime's, opened and not yet started; NULL = nothing to do */
    enum strobe_status (*begin)(struct strobe_jvm *vm, const struct strobe_art_options *options,
                                struct strobe_error *error);
    void (*end)(void); /* after begin */
    enum strobe_status (*begin_netease)(struct strobe_jvm *vm, const struct strobe_netease_options *options,
                                        struct strobe_error *error);
    void (*end_netease)(void);
    uint64_t (*charged_ns)(void); /* CPU time that the engine has been charged so far; NULL = not known */
};
extern const struct sim_real_loader sim_real_loader;

/* Who plays on the calling thread, and what they call out for. */
struct sim_actor *sim_real_art_acting(void);
void sim_real_art_answer(struct sim_actor *a);

/* The functions of native methods, by executor_art.c. The binder is exported as IPCThreadState::transact. */
int32_t sim_real_art_step(struct strobe_jni *env, strobe_jclass class, int64_t player);
uint8_t sim_real_art_caught(struct strobe_jni *env, strobe_jclass class, int64_t player, strobe_jobject thrown);
strobe_jobject sim_real_art_thrown(struct strobe_jni *env, strobe_jclass class, int64_t player);
void sim_real_art_native(struct strobe_jni *env, strobe_jclass class, int64_t player);
void sim_real_art_poll(struct strobe_jni *env, strobe_jobject queue, int64_t player, int32_t ms);
uint8_t sim_real_art_transact(struct strobe_jni *env, strobe_jobject binder, int32_t code, strobe_jobject data,
                              strobe_jobject reply, int32_t flags);
int32_t sim_real_art_binder(void *actor, int32_t handle, uint32_t code, const void *data, void *reply, uint32_t flags);
strobe_jobject sim_real_art_load(struct strobe_jni *env, strobe_jclass class, strobe_jobject name,
                                 strobe_jobject loader, strobe_jclass caller);

#endif
