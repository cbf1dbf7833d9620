#include "tests/contract_art/native/chain.h"

#include "engine/cmd/preload.h"
#include "tests/contract_art/support/java.h"
#include "tests/contract_art/support/workload.h"

#include <dlfcn.h>

struct chain chain;

static uint32_t at;                /* in the plan */
static bool over;                  /* the end of the chain has been reached: all return */
static uint32_t depth, step_depth; /* functions of libapp.so that run; the same when stepping began */

static void expect_frame(uint64_t frame)
{
    chain.expected.frames[chain.expected.count++] = frame;
}

/* Calls Main.deep, which calls itself and then Main.sample, whose function is the first of libapp.so. */
static void call_managed(void *player, size_t bytes)
{
    (void)player, (void)bytes;
    struct strobe_jni *env = strobe_jvm_env(chain.c->art.vm);
    for (int i = 0; i <= CHAIN_DEEP; i++)
        expect_frame(chain.deep);
    expect_frame(chain.sample);
    expect_frame(1);
    depth++;
    chain.entered = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    java_static(env, "Main", "deep", "(I)V", &(union strobe_jvalue){.i = CHAIN_DEEP});
}

struct sim_real_next sim_app_step(void *player)
{
    (void)player;
    if (!over && !chain.plan[at]) {
        over = true;
        chain.return_pc = (uint64_t)(uintptr_t)__builtin_return_address(0);
        chain.at_the_end();
    }
    if (over && depth == step_depth)
        chain.stepping = false;
    if (over) {
        depth--;
        return (struct sim_real_next){NULL, 0};
    }
    if (chain.plan[at] == 's') {
        at++;
        step_depth = depth;
        chain.begin_steps();
    }
    if (chain.plan[at++] == 'm')
        return (struct sim_real_next){call_managed, 0};
    uint32_t number = 1 + at % (CHAIN_FUNCTIONS - 1);
    expect_frame(number + 1);
    depth++;
    return (struct sim_real_next){sim_app_frame_of(chain.functions, number), at % 3 * 48};
}

void chain_run(const char *plan)
{
    chain.plan = plan;
    at = 0;
    over = false;
    depth = 0;
    step_depth = UINT32_MAX;
    chain.expected.count = 0;
    call_managed(NULL, 0);
}

void chain_open(struct contract *c, void (*end)(void))
{
    char path[STROBE_PRELOAD_BYTES];
    chain.c = c;
    chain.at_the_end = end;
    void *library = strobe_library_find("libapp.so", path, sizeof path) ? dlopen(path, RTLD_NOW) : NULL;
    chain.functions = library ? dlsym(library, "sim_app_frames") : NULL;
    if (!chain.functions)
        contract_skip(c, "there is no libapp.so");
    workload_bind(c->art.env, "Main", "sample", "(I)V", sim_app_entry_of(chain.functions, 0));
    chain.sample = workload_static(c->art.env, "Main", "sample", "(I)V");
    chain.deep = workload_static(c->art.env, "Main", "deep", "(I)V");
}

uint64_t chain_frame(uint64_t frame)
{
    uint64_t into = frame - 1 - (uint64_t)(uintptr_t)chain.functions;
    if (into < CHAIN_FUNCTIONS * SIM_REAL_FRAME_BYTES)
        return into / SIM_REAL_FRAME_BYTES + 1;
    return frame == chain.sample || frame == chain.deep ? frame : 0;
}
