/* Probes: calls from a player's instrumented methods to a capture policy. For sim/player only.
 *
 *   player (step.c, queue.c)   ->   libstrobe-probes.so: policies, compiled for real threads (sim/player/probes/)
 *
 * The player calls a probe at each entry, return and throw of an instrumented method, and at the begin and end of each
 * message. The rules are those of virtual time (sim/runtime/tracer.h):
 *
 *   - the player calls a method's probe while the method is active
 *   - a method that an exception or the thread's end unwinds has no exit probe; the method that throws has the throw
 *     probe
 *
 * sim/policy/instrument.h selects the methods that have probes. Without a policy, a probe costs one test of a pointer.
 *
 * At the end of the run the policy writes its capture to one file. Threads that have not ended still call probes. */
#ifndef STROBE_SIM_PLAYER_PROBES_H
#define STROBE_SIM_PLAYER_PROBES_H

#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Identity of a thread. */
struct sim_probe_thread {
    uint32_t tid;    /* of the kernel */
    uint32_t number; /* track + 1 */
    bool is_main;
    const char *name;
};

/* A capture policy by probes. */
struct sim_probe_policy {
    const char *policy; /* name */

    /* Opens the policy before the first thread starts. names[id] is the name of a method with probes, id 1 .. count; it
     * stays valid. `path`: the file that `close` writes. False: `error` has one line. */
    bool (*open)(const char *const *names, uint32_t count, const char *path, struct strobe_error *error);

    /* The thread that is described calls these. thread_begin returns the policy's state of the thread, which the other
     * calls get; NULL = the thread's probes are not reported. `id`: the method. `depth`: a number of its frame, the
     * same at all probes of one activation and greater in its callees. */
    void *(*thread_begin)(const struct sim_probe_thread *about);
    void (*thread_end)(void *thread);
    void (*enter)(void *thread, uint32_t id, uint32_t depth);
    void (*leave)(void *thread, uint32_t id, uint32_t depth);
    void (*throws)(void *thread, uint32_t id, uint32_t depth);
    void (*message_begin)(void *thread, uint32_t message, bool is_frame); /* a display frame in managed code */
    void (*message_end)(void *thread, uint32_t message);

    /* Called around a wait for a device, which real mode performs as a read by `method`. NULL: the policy hooks no
     * reads. */
    void (*read_begin)(void *thread, const char *method);
    void (*read_end)(void *thread);

    /* Writes the file. Any thread, once. False: `error` has one line. */
    bool (*close)(struct strobe_error *error);
};

/* The function that the library exports: returns the policy of that name, or NULL. */
typedef const struct sim_probe_policy *sim_probe_policy_of_fn(const char *policy);
#define SIM_PROBE_POLICY_OF "sim_probe_policy_of"

/* Opens the library and finds a policy in it. STROBE_IO, STROBE_UNSUPPORTED: `error` has one line. */
enum strobe_status sim_real_probe_policy_open(const char *policy, const struct sim_probe_policy **out,
                                              struct strobe_error *error);

#endif
