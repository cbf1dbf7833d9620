/* One run of a scenario: the kernel, the app's threads, the tracer that listens, the truth being written. */
#ifndef STROBE_SIM_RUNTIME_RUN_H
#define STROBE_SIM_RUNTIME_RUN_H

#include "engine/base/error.h"
#include "sim/runtime/fault.h"
#include "sim/runtime/tracer.h"

struct sim_run_options {
    uint64_t seed;
    enum sim_schedule schedule;
    struct sim_costs costs;
    const char *session_path; /* where a policy that keeps a session file puts it; NULL = nowhere that lasts */
    bool replace;             /* what is there already may be overwritten */
};

struct sim_run {
    const struct sim_scenario *scenario;
    struct sim_run_options options;
    struct sim_kernel *kernel;
    struct sim_tracer *tracer; /* NULL: the app runs alone */
    struct sim_tracks truth;
    struct sim_faults *faults;
    struct sim_vthread **threads; /* of the app, all that ever were, in order of start: index = track of the truth */
    uint32_t thread_count, thread_room;
    uint64_t end_ns;         /* when the run ended */
    uint64_t work_ns;        /* that the scenario's operations have asked for so far */
    struct sim_world *world; /* locks, queues, stacks, code: the runtime's own */
    enum sim_end end;
    char end_why[512];
};

/* Plays the scenario to its end and closes the truth. The run holds the kernel and the threads until sim_run_close.
 * STROBE_IO: out of memory, or what tracer->start said. */
enum strobe_status sim_run_play(struct sim_run *run, const struct sim_scenario *scenario,
                                const struct sim_run_options *options, struct sim_tracer *tracer,
                                struct strobe_error *error);
void sim_run_close(struct sim_run *run);

/* The app's thread of a tid that lives, or NULL. */
struct sim_vthread *sim_run_thread(struct sim_run *run, uint32_t tid);

/* The method that holds a code address: its number, sim_wait_method, or SIM_HOOK_METHOD for all that is no method. */
uint32_t sim_run_method_at(const struct sim_run *run, uint64_t address);

/* Whether a code address is the tracer's own: of its hooks, which the app did not call. */
bool sim_run_is_hook(uint64_t address);

/* Where a stopped (or the running) thread stands: registers as the ABI has them at that moment, prologues and epilogues
 * included. */
struct strobe_regs;
void sim_run_registers(const struct sim_vthread *v, struct strobe_regs *out);

/* Reads the app's memory: stacks and code. As struct strobe_host's read. */
enum strobe_status sim_run_read(struct sim_run *run, uint64_t address, void *out, size_t bytes, size_t *copied);

/* Ends a thread from outside where it stands, as a crash of it would. False: it has ended, or holds locks that
 * others would wait for in vain. Any but the thread itself. */
bool sim_run_kill(struct sim_run *run, struct sim_vthread *v);

/* CPU time of a thread in its own code. */
uint64_t sim_run_own_cpu_ns(const struct sim_vthread *v);

/* CPU of the app's own work so far, and what the tracer took: charges in app threads, its own threads, time held;
 * and the work that the scenario's operations have asked for. */
struct sim_run_cpu {
    uint64_t app_ns, tracer_ns, held_ns, work_ns;
};
struct sim_run_cpu sim_run_cpu(const struct sim_run *run);

#endif
