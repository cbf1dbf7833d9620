/* Real mode: a scenario on real threads, in real time, captured by the engine as it ships and scored as any other run.
 *
 *   this process                          the played one: a player, the library preloaded
 *   ------------                          --------------
 *   scenario as text, session made   ->   threads, real locks, real waits; each method in a real frame of its own
 *   waits                                 each thread notes what it does, by the clock that the engine reads
 *   session and notes                <-   both files, at the end
 *
 * Played as in virtual time: same operations, same draws (sim/runtime/draws.h). What real threads can't do is done as
 * near as it goes, and the truth tells what was really done:
 *
 *   compute             a loop that was calibrated before; the machine decides how long it takes
 *   frameless           such methods keep a frame here
 *   monitor, park, gc   a recursive mutex, a semaphore, a mutex
 *   condition           a queue of waiters with a condition variable each, as ART has it
 *   i/o, ipc, load      a read that takes as long
 *   jni                 a call: no hook of the kind is there
 *   faults, tids        left to virtual mode
 *
 * In an Android runtime (sim/genuine/runtime.h) methods are those of a dex file (sim/player/dex/dex.h), each thread is
 * attached, and what belongs to the runtime is really its own: monitors, waits for them, permits, what managed methods
 * allocate, exceptions, collections (however long they take), sleeps, messages, library loads, calls through the
 * binder. The engine is the one for Android; what it does not hook there - mutexes, semaphores, i/o - only its sampler
 * sees. A fake runtime may play in virtual time (sim/player/virtual): then work takes as long as it is to, a collection
 * what the scenario says, and what is noted of blocks is exact.
 *
 * Who captures is the engine, or another policy: NetEase's capture in an Android runtime, which makes a session, too;
 * or a scheme by instrumentation (probes.h), whose probes the methods have and whose file is read back.
 *
 * CPU slices of the truth are empty: the kernel's scheduler does not tell. Who let whom go is known for sure of
 * locks, conditions, joins and parks; posts of a semaphore are taken to be had in their order. Scenarios of more than
 * SIM_REAL_METHODS methods are refused. x86-64 and aarch64. */
#ifndef STROBE_SIM_PLAYER_REAL_H
#define STROBE_SIM_PLAYER_REAL_H

#include "engine/base/error.h"
#include "sim/runtime/run.h"
#include "sim/score/view.h"

enum { SIM_REAL_METHODS = 1024 };

#define SIM_REAL_NETEASE_NS UINT64_C(10000000) /* the period of NetEase's capture */

struct sim_real_options {
    const char *policy;  /* NULL = strobe: the engine */
    const char *runtime; /* NULL = none: real frames */
    bool is_virtual;     /* a fake runtime, in virtual time */
    uint64_t seed;
    enum sim_schedule schedule; /* of virtual time, and so is the next */
    const struct sim_costs *costs;
    const char *folder;
};

/* Why a policy can't be played so, for people; NULL = it can. The engine itself always can; NetEase's capture in an
 * Android runtime; schemes that instrument methods, on real threads. */
bool sim_real_has(const char *policy); /* it can somehow */
const char *sim_real_refuses(const char *policy, const char *runtime, bool is_virtual);

/* The name of the file that a policy leaves its capture in. */
const char *sim_real_file(const char *policy);

/* Plays `scenario` and fills in truth, claim and what of the one the other could tell (made here, closed by the caller,
 * also after an error). In real
 * time it is played twice, which takes twice the scenario's time: first alone, to know what its work takes; *cpu then
 * holds that for the traced run, and what that took besides. `folder`: gets what is captured (sim_real_file) and
 * trace.pftrace, overwritten; NULL = nothing is left.
 * Otherwise `error` has one line. STROBE_UNSUPPORTED: not on this machine. STROBE_BAD_INPUT: not this scenario.
 * STROBE_IO. */
enum strobe_status sim_real_run(const struct sim_scenario *scenario, const struct sim_real_options *options,
                                struct sim_tracks *truth, struct sim_tracks *claim, struct sim_view *view,
                                struct sim_run_cpu *cpu, struct strobe_error *error);

/* The played process is a program of its own, which stands beside strobe-lab or in ../libexec/strobe. */
#define SIM_REAL_PLAYER "strobe-player"

/* What that program does. argv[0] is its name. Returns the exit status. */
int sim_real_child(int argc, char **argv);

/* The same in virtual time: sim/player/virtual/virtual.h. */
#define SIM_VIRTUAL_PLAYER      "strobe-player-virtual"
#define SIM_VIRTUAL_MACH_PLAYER "strobe-player-virtual-mach"

#endif
