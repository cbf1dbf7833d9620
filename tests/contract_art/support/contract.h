/* Contract of Android's runtime: the behaviour that the engine relies on, as a table of cases. The cases run on genuine
 * runtimes and on the lab's fakes, which must behave alike.
 *
 *     contract_art [-l] [-j JOBS] RUNTIME MODE [CASE...]      MODE: interpreted, quick, inlined
 *
 * -l omits the heavy cases. JOBS cases run in parallel (default 4), but only one heavy case at a time. The output of a
 * case is shown when it has ended. Each case has its own process and its own runtime. A case that fails on a fake and
 * passes on a genuine runtime shows a bug of the fake. */
#ifndef STROBE_CONTRACT_ART_SUPPORT_CONTRACT_H
#define STROBE_CONTRACT_ART_SUPPORT_CONTRACT_H

#include "engine/backend/art/libart.h"
#include "sim/genuine/runtime.h"

#include <stdio.h>

enum contract_need {
    CONTRACT_FAKE = 1,  /* a fake: reads state that a tracer cannot see, or forces an event that is rare on a genuine
                           runtime */
    CONTRACT_QUICK = 2, /* quick frames */
    CONTRACT_INLINED = 4,
    CONTRACT_STOPPED = 8, /* a process without a started runtime */
    CONTRACT_HEAVY = 16,  /* takes more than about 100 ms of processor time; run.sh states which runs include it */
};

struct contract {
    struct sim_art art;
    struct sim_art_options options;
    const char *runtime;
    struct strobe_libart libart; /* resolved before the case begins */
    int failures;
};

struct contract_case {
    const char *name; /* states a property */
    void (*run)(struct contract *);
    unsigned needs; /* enum contract_need */
};

/* The entry after the last case of each array has name NULL. */
extern const struct contract_case contract_cases_stack[], contract_cases_suspend[], contract_cases_monitor[],
    contract_cases_heap[], contract_cases_park[], contract_cases_handover[], contract_cases_thread[],
    contract_cases_hook[], contract_cases_engine[], contract_cases_waits[], contract_cases_life[],
    contract_cases_stress[], contract_cases_without[], contract_cases_symbols[], contract_cases_dex[],
    contract_cases_code[], contract_cases_jni[], contract_cases_visitor[], contract_cases_sampling[],
    contract_cases_held[], contract_cases_wakers[], contract_cases_order[], contract_cases_netease[],
    contract_cases_native[], contract_cases_results[], contract_cases_frames[], contract_cases_whole[],
    contract_cases_starts[], contract_cases_faults[], contract_cases_flight[];

/* Fails the case and prints the message when `holds` is false; the case continues. Returns `holds`. */
#define CHECK(contract, holds, ...) contract_check(contract, holds, __FILE__, __LINE__, #holds, __VA_ARGS__)
bool contract_check(struct contract *c, bool holds, const char *file, int line, const char *what, const char *format,
                    ...) __attribute__((format(printf, 6, 7)));

/* Ends the case's process because something that the case needs is not available. */
_Noreturn void contract_skip(const struct contract *c, const char *why);

/* Makes the runtime collect all garbage. Called by an attached thread that runs native code. */
void contract_collect(struct contract *c);

#endif
