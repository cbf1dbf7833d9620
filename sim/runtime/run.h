/* One run of a scenario: the kernel, the app's threads, the tracer, and the truth. */
#ifndef STROBE_SIM_RUNTIME_RUN_H
#define STROBE_SIM_RUNTIME_RUN_H

#include "engine/base/error.h"
#include "sim/runtime/fault.h"
#include "sim/runtime/tracer.h"

struct sim_run_options {
    uint64_t seed;
    enum sim_schedule schedule;
    struct sim_costs costs;
    const char *session_path; /* path for a policy that writes a session file; NULL: the session is temporary */
    bool replace;             /* an existing file may be overwritten */
};

/* CPU time of the app's own work, the tracer's share (charges in app threads, its own threads, time held), and the work
 * that the scenario's operations have asked for. */
struct sim_run_cpu {
    uint64_t app_ns, tracer_ns, held_ns, work_ns;
};

struct sim_run {
    const struct sim_scenario *scenario;
    struct sim_run_options options;
    struct sim_kernel *kernel;
    struct sim_tracer *tracer; /* NULL: the app runs alone */
    struct sim_tracks truth;
    struct sim_faults *faults;
    struct sim_vthread **threads; /* all threads of the app ever, in order of start; the index is the track of the
                                     truth */
    uint32_t thread_count, thread_room;
    uint64_t end_ns;         /* when the run ended */
    uint64_t work_ns;        /* CPU time that the scenario's operations have asked for so far */
    struct sim_run_cpu cpu;  /* at the end of the run */
    struct sim_world *world; /* locks, queues, stacks, code; private to sim/runtime */
    enum sim_end end;
    char end_why[512];
};

/* Plays the scenario to its end and closes the truth. The kernel and the threads live until sim_run_close. STROBE_IO:
 * out of memory, or the status of tracer->start. */
enum strobe_status sim_run_play(struct sim_run *run, const struct sim_scenario *scenario,
                                const struct sim_run_options *options, struct sim_tracer *tracer,
                                struct strobe_error *error);
void sim_run_close(struct sim_run *run);

/* Returns the live thread of the app with this tid, or NULL. */
struct sim_vthread *sim_run_thread(struct sim_run *run, uint32_t tid);

/* Returns the method at a code address: its number, sim_wait_method, or SIM_HOOK_METHOD when there is no method. */
uint32_t sim_run_method_at(const struct sim_run *run, uint64_t address);

/* True when a code address belongs to the tracer's hooks, which the app did not call. */
bool sim_run_is_hook(uint64_t address);

/* Returns the registers of a stopped (or the running) thread, as the ABI defines them at that instant, also in
 * prologues and epilogues. */
struct strobe_regs;
void sim_run_registers(const struct sim_vthread *v, struct strobe_regs *out);

/* Reads the app's memory: stacks and code. Same contract as `read` of struct strobe_host. */
enum strobe_status sim_run_read(struct sim_run *run, uint64_t address, void *out, size_t bytes, size_t *copied);

/* Ends a thread from outside where it stands, like a crash. False: it has ended, or holds locks that others would wait
 * for without end. Any context except the thread itself. */
bool sim_run_kill(struct sim_run *run, struct sim_vthread *v);

/* CPU time of a thread in its own code. */
uint64_t sim_run_own_cpu_ns(const struct sim_vthread *v);

#endif
