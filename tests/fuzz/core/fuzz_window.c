/* Deadlock avoidance: whatever an app's threads do while the sampler suspends them, the sampler makes no forbidden call
 * while a thread is suspended, no thread waits for ever, and each thread ends.
 *
 * Bytes become an app on the virtual kernel: threads that take locks (one of them the allocator's), allocate, wait,
 * start and join others, and exit or die, also in the middle of a stop. The engine samples them every 100 us of virtual
 * time, by suspension alone or with hooks and CPU clocks. An adversary chooses the schedule.
 *
 * Each app ends: locks are taken in the order of their numbers, a thread waits without a timeout for locks and threads
 * only, and it joins threads while it holds no lock.
 *
 * Input: the seed of the schedule (2 bytes), cores, policy and faults (1 byte each), then the operations. */
#include "engine/base/error.h"
#include "sim/app/text.h"
#include "sim/policy/policy.h"
#include "sim/runtime/run.h"
#include "tests/fuzz/support/bytes.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { TEXT_BYTES = 8 << 10, THREADS = 4, LOCKS = 4, ARENA = LOCKS, NESTING = 4, OPERATIONS = 12 };

struct maker {
    struct fuzz_bytes *in;
    struct sim_text text;
    uint32_t held;    /* number of the highest lock that the thread holds + 1 */
    uint32_t nesting; /* blocks around the place */
    uint32_t spawned; /* threads that this method has started and not joined */
};

#define put(m, ...) sim_text_put(&(m)->text, __VA_ARGS__)

static void put_block(struct maker *m, uint32_t operations);

static void put_locked(struct maker *m, const char *how, uint32_t lock)
{
    uint32_t held = m->held;
    m->held = lock + 1;
    put(m, "%s l%u", how, lock);
    put_block(m, 1 + fuzz_below(m->in, 3));
    m->held = held;
}

/* Locks 0 and 1 are mutexes, 2 is a monitor, 3 an rwlock; the allocator's comes last. */
static void put_lock(struct maker *m)
{
    static const char *const how[LOCKS] = {"lock", "lock", "synchronized", "read_lock"};
    uint32_t byte = fuzz_byte(m->in), lock = byte % LOCKS;
    if (lock < m->held || m->nesting == NESTING)
        put(m, "compute %uus", 1 + byte % 50);
    else
        put_locked(m, lock == 3 && byte & 4 ? "write_lock" : how[lock], lock);
}

static void put_allocation(struct maker *m)
{
    uint32_t byte = fuzz_byte(m->in);
    if (m->held > ARENA)
        put(m, "compute 1us");
    else
        put(m, byte & 1 ? "call heap_free" : "call heap_alloc");
}

static void put_child(struct maker *m)
{
    if (!m->held && m->spawned && fuzz_byte(m->in) & 1) {
        m->spawned--;
        put(m, "join child");
    } else {
        m->spawned++;
        put(m, "spawn child");
    }
}

static void put_operation(struct maker *m)
{
    static const char *const others[] = {"unpark t0", "unpark t1", "clock", "alloc 64", "free 1", "notify_all c"};
    uint32_t what = fuzz_byte(m->in), amount = fuzz_byte(m->in);
    switch (what % 13) {
    case 0:
    case 1: put(m, "compute %uus", 1 + amount * 2); break;
    case 2: put(m, "sleep %uus", 1 + amount * 4); break;
    case 3:
    case 4: put_lock(m); break;
    case 5:
    case 6: put_allocation(m); break;
    case 7: put(m, "read 4KiB takes %uus", 1 + amount); break;
    case 8:
        if (amount & 1)
            put(m, "release s");
        else
            put(m, "acquire s timeout %uus", 1 + amount * 8);
        break;
    case 9: put(m, "park timeout %uus", 1 + amount * 8); break;
    case 10: put_child(m); break;
    case 11:
        if (m->nesting < NESTING && amount & 1) {
            put(m, "try { compute %uus; throw } catch { }", amount);
        } else if (m->nesting < NESTING) {
            put(m, "repeat %u", 1 + amount % 6);
            put_block(m, 1 + amount % 3);
        } else {
            put(m, "compute 1us");
        }
        break;
    default: put(m, "%s", others[amount % (sizeof others / sizeof *others)]); break;
    }
}

static void put_block(struct maker *m, uint32_t operations)
{
    m->nesting++;
    put(m, " { ");
    for (uint32_t i = 0; i < operations; i++) {
        put_operation(m);
        put(m, "; ");
        if (!m->in->left || m->text.bytes > TEXT_BYTES)
            break;
    }
    put(m, "}");
    m->nesting--;
}

static void put_faults(struct maker *m, uint32_t bits)
{
    static const char *const faults[] = {"resume_lost",  "exit_before_suspend",  "exit_in_suspend", "exit_before_read",
                                         "suspend_late", "sampler_stall of 3ms", "sampler_killed",  "corrupt_stack"};
    for (uint32_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (bits >> i & 1)
            put(m, "fault %s times 2 chance 0.2\n", faults[i]);
}

static void make_app(struct maker *m, uint32_t cores, uint32_t faults)
{
    put(m,
        "scenario fuzz \"Locks, exits and allocations while a thread is suspended\"\n"
        "duration 60s\ncores %u\nconfig async_interval 100us\nconfig threads_max 64\n"
        "mutex l0\nmutex l1\nmonitor l2\nrwlock l3\nmutex l%u\ncond c\nsemaphore s 1\n",
        cores, ARENA);
    put_faults(m, faults);
    put(m, "method heap_alloc { lock l%u { compute 2us..8us }; alloc 16..512 }\n", ARENA);
    put(m, "method heap_free { lock l%u { compute 1us..5us }; free 1 }\n", ARENA);
    put(m,
        "method Child.run { call heap_alloc; compute 30us..300us; call heap_free }\nthread child x0 run Child.run\n");
    for (uint32_t t = 0; t < THREADS; t++) {
        m->spawned = 0;
        put(m, "method T%u.run", t);
        put_block(m, 1 + fuzz_below(m->in, OPERATIONS));
        put(m, "\nthread t%u %s start 0us..%uus run T%u.run\n", t, t ? "" : "main", 1 + fuzz_byte(m->in), t);
    }
}

static void fail_app(const struct maker *m, const char *policy, uint64_t seed, const char *why)
{
    fprintf(stderr, "%s\npolicy %s, seed %llu: %s\n", m->text.text, policy, (unsigned long long)seed, why);
    abort();
}

static void play(const struct maker *m, const struct sim_scenario *app, const char *policy, uint64_t seed)
{
    struct strobe_error error = {""};
    struct sim_run run = {0};
    struct sim_tracer *tracer;
    struct sim_run_options options = {.seed = seed, .schedule = SIM_ADVERSARIAL, .costs = sim_costs_default};
    fuzz_require(sim_policy_open(policy, &tracer) == STROBE_OK);
    if (sim_run_play(&run, app, &options, tracer, &error) != STROBE_OK)
        fail_app(m, policy, seed, error.text);
    for (uint32_t i = 0; i < run.thread_count; i++)
        if (!run.threads[i]->ended)
            fprintf(stderr, "%s has not ended\n", run.threads[i]->thread->name);
    if (run.end != SIM_END_DONE)
        fail_app(m, policy, seed, run.end_why);
    struct sim_tracks reconstruction;
    sim_tracks_open(&reconstruction);
    if (tracer->reconstruct(tracer, &run, &reconstruction, &error) != STROBE_OK)
        fail_app(m, policy, seed, error.text);
    if (!tracer->check(tracer, &run, &error))
        fail_app(m, policy, seed, error.text);
    sim_tracks_close(&reconstruction);
    sim_run_close(&run);
    tracer->close(tracer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct maker m;
    struct fuzz_bytes in = {data, bytes};
    struct sim_scenario *app;
    struct strobe_error error = {""};
    uint64_t seed = fuzz_pair(&in);
    uint32_t cores = 1 + fuzz_below(&in, 4), policy = fuzz_byte(&in), faults = fuzz_byte(&in);
    m.in = &in;
    m.text.bytes = 0;
    m.held = m.nesting = 0;
    make_app(&m, cores, policy & 2 ? faults : 0);
    if (sim_scenario_parse(m.text.text, "fuzz", &app, &error) != STROBE_OK)
        fail_app(&m, "none", seed, error.text);
    play(&m, app, policy & 1 ? "strobe" : "strobe-stops", seed);
    sim_scenario_free(app);
    return 0;
}
