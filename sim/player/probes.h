/* Instrumented methods in the played process: the seam between its player and a scheme that captures by probes. For
 * sim/player only.
 *
 *   player (step.c, queue.c)   ->   libstrobe-probes.so: the scheme, compiled for real threads (sim/player/probes/)
 *                                   one probe at each method's entry, exit, throw, and at each message's begin and end
 *
 * As in virtual time (sim/runtime/tracer.h): a probe is met inside of its method; who leaves a method by an exception,
 * or by the thread's end, meets none but the throw's, in the method that threw. Which methods have probes says
 * sim/policy/instrument.h. Where no scheme listens a probe is one test of a pointer.
 *
 * At the run's end the scheme writes what it has into one file, while threads that have not ended go on. */
#ifndef STROBE_SIM_PLAYER_PROBES_H
#define STROBE_SIM_PLAYER_PROBES_H

#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who a thread is. */
struct sim_probe_thread {
    uint32_t tid;    /* the kernel's */
    uint32_t number; /* in the run, from 1: its track + 1 */
    bool is_main;
    const char *name;
};

struct sim_probe_policy {
    const char *policy;

    /* Before the first thread. names[id]: of a method that has probes, id 1 .. count; they stay. `path`: of the file to
     * be written. False: `error` has one line. */
    bool (*open)(const char *const *names, uint32_t count, const char *path, struct strobe_error *error);

    /* By the thread itself; `thread` is what its begin has returned. NULL = it is not listened to. Methods by
     * id; `depth` of their frame: the same from its enter to its end, and more in what it calls. */
    void *(*thread_begin)(const struct sim_probe_thread *about);
    void (*thread_end)(void *thread);
    void (*enter)(void *thread, uint32_t id, uint32_t depth);
    void (*leave)(void *thread, uint32_t id, uint32_t depth);
    void (*throws)(void *thread, uint32_t id, uint32_t depth);
    void (*message_begin)(void *thread, uint32_t message, bool is_frame); /* is_frame: of managed code */
    void (*message_end)(void *thread, uint32_t message);

    /* Around a read, which real mode does whatever waits for a device: in this method. NULL = it hooks none. */
    void (*read_begin)(void *thread, const char *method);
    void (*read_end)(void *thread);

    /* Writes the file. By any thread, once. False: `error` has one line. */
    bool (*close)(struct strobe_error *error);
};

/* What the library exports: the scheme of a policy, NULL = none of that name. */
typedef const struct sim_probe_policy *sim_probe_policy_of_fn(const char *policy);
#define SIM_PROBE_POLICY_OF "sim_probe_policy_of"

/* Opens the library beside the command, and the scheme of a policy. STROBE_IO, STROBE_UNSUPPORTED: `error` has one
 * line. */
enum strobe_status sim_real_probe_policy_open(const char *policy, const struct sim_probe_policy **out,
                                              struct strobe_error *error);

#endif
