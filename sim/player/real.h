/* Real mode: plays a scenario on real threads in real time, while the engine as it ships or another policy captures it.
 * The result is scored as any other run.
 *
 *   strobe-lab                            player, in a process of its own
 *   ----------                            -------------------------------
 *   writes the scenario as text and  ->   starts threads with real locks and waits; each method has a real frame
 *   an empty session
 *   waits                                 each thread notes what it does, by the engine's clock
 *   reads session and notes          <-   writes both files at the end
 *
 * The player performs the same operations with the same draws as virtual time (sim/runtime/draws.h). Some operations
 * have no exact counterpart on real threads. The truth records what the threads really did:
 *
 *   compute             a calibrated loop; the machine decides how long it takes
 *   frameless           such methods have a frame in real mode
 *   monitor, park, gc   a recursive mutex, a semaphore, a mutex
 *   condition           a queue of waiters, each with a condition variable, as in ART
 *   i/o, ipc, load      a wait of kind READ (sim_work_device) of the same duration
 *   jni                 a call; no hook for it exists
 *   faults, tids        ignored
 *
 * In an Android runtime (sim/genuine/runtime.h) the methods are those of a dex file (sim/player/dex/dex.h), and each
 * thread is attached to the runtime. These operations are then the runtime's own: monitors and waits for them, parks,
 * allocations of managed methods, exceptions, collections (of any duration), sleeps, messages, library loads, binder
 * calls. The engine's Android backend captures. It hooks no mutexes, semaphores or I/O; there only its sampler
 * records.
 *
 * A fake runtime can play in virtual time (sim/player/virtual). Work and collections then take the scenario's time, and
 * the notes about blocking are exact.
 *
 * Other policies than the engine: NetEase's capture in an Android runtime, which writes a session too, and policies by
 * probes (probes.h), which write a file of their own.
 *
 * The truth has no CPU slices, because the kernel does not report them. Its wakers are exact for locks, conditions,
 * joins and parks. For a semaphore the player assumes that waiters consume posts in their order. Real mode rejects
 * scenarios with more than SIM_REAL_METHODS methods. x86-64 and aarch64. */
#ifndef STROBE_SIM_PLAYER_REAL_H
#define STROBE_SIM_PLAYER_REAL_H

#include "engine/base/error.h"
#include "sim/runtime/run.h"
#include "sim/score/view.h"

enum { SIM_REAL_METHODS = 1024 };

#define SIM_REAL_NETEASE_NS UINT64_C(10000000) /* sampling period of NetEase's capture */

struct sim_real_options {
    const char *policy;  /* NULL = strobe, the engine */
    const char *runtime; /* NULL = none: functions of frames.h */
    bool is_virtual;     /* play in virtual time; `runtime` is a fake one */
    uint64_t seed;
    enum sim_schedule schedule;    /* in virtual time only */
    const struct sim_costs *costs; /* in virtual time only */
    const char *folder;            /* see sim_real_run */
};

/* Returns true when real mode has the policy at all. */
bool sim_real_has(const char *policy);

/* Returns why a policy cannot capture with these options, as text for users, or NULL when it can. The engine always
 * can. `ideal` samples the truth of a run of the engine in a runtime. NetEase's capture requires an Android runtime,
 * policies by probes require real threads without a runtime. */
const char *sim_real_refuses(const char *policy, const char *runtime, bool is_virtual);

/* Returns the name of the file that contains a policy's capture. */
const char *sim_real_file(const char *policy);

/* Plays `scenario`. Fills in the truth, the timeline that the policy reconstructs, and the part of the truth that the
 * policy can see (*view). The function opens all three; the caller closes them, also after an error.
 *
 * In real time the function plays the scenario twice, first without a policy. The first run measures the CPU time of
 * the scenario's own work. *cpu divides the CPU time of the second run into that time and the policy's.
 *
 * `folder`: gets the capture (sim_real_file) and trace.pftrace; both are overwritten. NULL = no files stay.
 *
 * On failure `error` has one line. STROBE_UNSUPPORTED: real mode does not support this machine. STROBE_BAD_INPUT: it
 * cannot play this scenario, or the runtime is not installed. STROBE_IO: the player failed, or files. */
enum strobe_status sim_real_run(const struct sim_scenario *scenario, const struct sim_real_options *options,
                                struct sim_tracks *truth, struct sim_tracks *reconstruction, struct sim_view *view,
                                struct sim_run_cpu *cpu, struct strobe_error *error);

/* Exit statuses of a player beside 0. Its stderr has one line. */
enum {
    SIM_REAL_FAILED = 1, /* it should have played the scenario */
    SIM_REAL_REFUSED,    /* the runtime cannot express the scenario, or is not installed */
};

/* Name of the player, a program beside strobe-lab or in ../libexec/strobe. */
#define SIM_REAL_PLAYER "strobe-player"

/* Main function of the player. Returns the exit status. */
int sim_real_child(int argc, char **argv);

/* Names of the players in virtual time (sim/player/virtual/virtual.h). */
#define SIM_VIRTUAL_PLAYER      "strobe-player-virtual"
#define SIM_VIRTUAL_MACH_PLAYER "strobe-player-virtual-mach"

#endif
