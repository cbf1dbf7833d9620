/* The Android runtime in which a player plays a scenario, and the engine that captures there. For sim/player only. */
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

/* State of the runtime executor (executor_art.c). Objects and classes are global references. */
struct sim_art_play {
    struct sim_art art;
    struct sim_art_method *methods; /* of the scenario */
    struct sim_art_method allocate;
    strobe_jobject thrown; /* the exception of every throw, made once so that a throw allocates nothing */
    strobe_jclass object, thread;
    strobe_jmethod wait, notify, notify_all, current, sleep;
    strobe_jobject unsafe, queue, binder;
    strobe_jmethod park, unpark, poll, transact;
    struct sim_art_method load;
    bool frees, unparks;                 /* the scenario has operations `free`, `unpark` */
    _Atomic uint32_t kept;               /* allocations held by global references; a runtime has at most 51200 */
    int32_t (*call_binder)(void *actor); /* of libstrobe-binder.so; NULL = library not found */
    uint64_t (*waits)(void);             /* of a fake runtime (sim/fake/art/system.h); NULL = unknown */
    struct sim_real_next (*native_step)(struct sim_actor *a); /* next step of a function of libapp.so */
    void (*answer)(struct sim_actor *a);                      /* takes a->latency_ns; ends a call out of the runtime */
    bool captured, by_netease;
};

/* Loads the engine into a player with an Android runtime: on real threads (loader.c), or in virtual time
 * (sim/player/virtual/loader.c). */
struct sim_real_loader {
    void (*prepare)(void *library); /* gets a fake runtime's library before the runtime starts; NULL = no action */
    enum strobe_status (*begin)(struct strobe_jvm *vm, const struct strobe_art_options *options,
                                struct strobe_error *error);
    void (*end)(void); /* only after begin returned STROBE_OK */
    enum strobe_status (*begin_netease)(struct strobe_jvm *vm, const struct strobe_netease_options *options,
                                        struct strobe_error *error);
    void (*end_netease)(void);
    uint64_t (*charged_ns)(void); /* CPU time charged to the engine so far; NULL = unknown */
};
extern const struct sim_real_loader sim_real_loader;

/* Returns the actor of the calling thread. */
struct sim_actor *sim_real_art_acting(void);

/* Takes a->latency_ns, in a device of the actor. */
void sim_real_art_answer(struct sim_actor *a);

/* Next step of a native method's function, which is one of libapp.so. */
struct sim_real_next sim_real_art_native_step(struct sim_actor *a);

/* Implementations of native methods (executor_art.c). The player exports sim_real_art_binder as
 * IPCThreadState::transact. `player` is the address of a struct sim_actor. */
int32_t sim_real_art_step(struct strobe_jni *env, strobe_jclass class, int64_t player);
uint8_t sim_real_art_caught(struct strobe_jni *env, strobe_jclass class, int64_t player, strobe_jobject thrown);
strobe_jobject sim_real_art_thrown(struct strobe_jni *env, strobe_jclass class, int64_t player);
void sim_real_art_poll(struct strobe_jni *env, strobe_jobject queue, int64_t player, int32_t ms);
uint8_t sim_real_art_transact(struct strobe_jni *env, strobe_jobject binder, int32_t code, strobe_jobject data,
                              strobe_jobject reply, int32_t flags);
int32_t sim_real_art_binder(void *actor, int32_t handle, uint32_t code, const void *data, void *reply, uint32_t flags);
strobe_jobject sim_real_art_load(struct strobe_jni *env, strobe_jclass class, strobe_jobject name,
                                 strobe_jobject loader, strobe_jclass caller);

#endif
