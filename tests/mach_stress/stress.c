/* Suspends, walks and resumes threads that allocate, lock, end and start, many times, by the engine's host and unwinder
 * on the fake Mach:
 *
 *     mach_stress [--rounds N] [--seconds S] [--threads N] [--seed N]
 *
 * Each stack must be possible (graph.h). At the end no suspension, name, right or memory may be left. In a round one
 * thread is suspended and walked. Prints counts, and `N passed, N failed` last.
 *
 * Under a race detector threads stop late, at their next call of the C library, so stacks are not checked. Under a
 * sanitizer memory is not checked, because the sanitizer takes some for itself. */
#include "tests/mach_stress/crew.h"

#include "engine/backend/mach/host_mach.h"
#include "tests/support/sanitizers.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STACK_BOUNDS_ARE_KNOWN = !THREAD_SANITIZER, MEMORY_IS_OURS = !THREAD_SANITIZER && !ADDRESS_SANITIZER };

enum {
    DEPTH_MAX = 48, /* limit of walks: less than the deepest stacks, so that some are cut */
    TIMEOUT_NS = 20000000,
    HANG_SECONDS = 60,
    LOOK_EVERY = 2000, /* rounds between two scans for threads that ended without a report */
    PRINTED_MAX = 5,
    GROWTH_MAX_KIB = 1024,
};

struct counts {
    uint64_t tried, rounds, late, gone, refused, moved, watched;
    uint64_t safely; /* rounds without bounds of the stack */
    uint64_t verdict[GRAPH_IMPOSSIBLE + 1], cut, doubtful, doubtful_own;
    uint64_t depth[STROBE_STACK_DEPTH_MAX + 1];
};

static struct crew crew;
static struct strobe_mach_threads *table;
static struct strobe_mach_host mach;
static struct counts counts;
static uint64_t random_state;

static uint64_t draw(uint64_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % limit;
}

/* ---- the crew's side */

static void joins(uint64_t id)
{
    strobe_mach_threads_put(table, strobe_mach_tid(id), mach_thread_self());
}

/* Every other thread does not report its end. It may be stopped in its exit, or found to have ended. */
static bool leaves(uint64_t id)
{
    bool silently = id >> 14 & 1;
    if (!silently)
        strobe_mach_threads_drop(table, strobe_mach_tid(id));
    return silently;
}

/* ---- a round */

static void judge(const uint64_t *frames, uint32_t count, enum strobe_walk_end end)
{
    uint32_t depth;
    enum graph_verdict v = graph_judge(frames, count, 1, &depth);
    bool whole = end == STROBE_WALK_ROOT;
    if (v == GRAPH_PART && whole)
        v = GRAPH_IMPOSSIBLE; /* the walk claims to be complete */
    counts.verdict[v]++;
    counts.depth[depth]++;
    counts.cut += end == STROBE_WALK_CUT;
    counts.doubtful += end == STROBE_WALK_DOUBTFUL;
    counts.doubtful_own += end == STROBE_WALK_DOUBTFUL && v != GRAPH_ELSEWHERE;
    if (v != GRAPH_IMPOSSIBLE || counts.verdict[v] > PRINTED_MAX)
        return;
    fprintf(stderr, "impossible, ends %d:\n", (int)end);
    graph_print(frames, count);
}

/* Returns the known bounds of the stack. Every eighth time they count as unknown, and the stack is read safely. They
 * are also unknown when the slot already has the end of the next thread's stack. The first frame of that thread is not
 * in this stack, and is left out. */
static struct strobe_window window_of(const struct crew_slot *s, const struct strobe_regs *regs)
{
    uint64_t sp = regs->sp & ~(uint64_t)7;
    uint64_t high = atomic_load(&s->stack_high), bytes = atomic_load(&s->stack_bytes);
    uint64_t root = atomic_load(&s->root_frame);
    bool known = sp < high && high - sp <= bytes && counts.tried % 8;
    counts.safely += !known;
    return (struct strobe_window){known ? sp : 0, known ? high : 0, 0, root - sp < bytes ? root : 0};
}

static void walk_and_resume(const struct crew_slot *s, uint64_t id, const struct strobe_regs *regs)
{
    static uint64_t frames[DEPTH_MAX];
    const struct strobe_host *host = &mach.host;
    struct strobe_stack_top top = {0};
    uint32_t count = 0;
    enum strobe_walk_end end = STROBE_WALK_DOUBTFUL;
    bool fit = atomic_load_explicit(&s->id, memory_order_relaxed) == id;
    if (fit) {
        struct strobe_window window = window_of(s, regs);
        end = strobe_unwinder_mach.stopped(host, regs, &window, &top, frames + DEPTH_MAX, DEPTH_MAX, &count);
    }
    if (host->resume(host->ctx, strobe_mach_tid(id)) != STROBE_OK) {
        counts.watched++;
    } else if (!fit) {
        counts.moved++;
    } else {
        counts.rounds++;
        end = strobe_unwinder_mach.resumed(host, regs, &top, end, frames + DEPTH_MAX, DEPTH_MAX, &count);
        if (STACK_BOUNDS_ARE_KNOWN)
            judge(frames + DEPTH_MAX - count, count, end);
    }
}

/* Chooses one slot in eight at random, otherwise one whose thread does not sleep, if there is one. */
static const struct crew_slot *choose(void)
{
    uint32_t first = (uint32_t)draw(crew.size);
    bool any = !draw(8);
    for (uint32_t i = 0; i < crew.size && !any; i++) {
        const struct crew_slot *s = &crew.slot[(first + i) % crew.size];
        if (!atomic_load_explicit(&s->rests, memory_order_relaxed))
            return s;
    }
    return &crew.slot[first];
}

static void try_one(void)
{
    static const strobe_a32 never;
    const struct crew_slot *s = choose();
    uint64_t id = atomic_load_explicit(&s->id, memory_order_acquire);
    struct strobe_regs regs;
    if (!id)
        return;
    counts.tried++;
    switch (mach.host.suspend(mach.host.ctx, strobe_mach_tid(id), &never, TIMEOUT_NS, &regs)) {
    case STROBE_OK: walk_and_resume(s, id, &regs); break;
    case STROBE_LATE: counts.late++; break;
    case STROBE_GONE: counts.gone++; break;
    default: counts.refused++;
    }
}

static void nobody_is_new(void *ctx, const struct strobe_mach_found *found)
{
    (void)ctx, (void)found;
}

/* ---- all */

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long resident_kib(void)
{
    char text[128] = "";
    FILE *f = fopen("/proc/self/statm", "r");
    long pages = f && fgets(text, sizeof text, f) ? strtol(strchr(text, ' '), NULL, 10) : 0;
    if (f)
        fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Any thread may get the signal, and may hold any lock. */
static void hangs(int number)
{
    static const char text[] = "FAIL it hangs\n0 passed, 1 failed\n";
    (void)number;
    if (write(1, text, sizeof text - 1) > 0)
        _exit(1);
    _exit(2);
}

struct run {
    uint64_t rounds;
    double seconds;
    uint64_t seed;
};

/* The sampler's thread belongs to the engine: it is not in the table, and is never stopped. */
static void sample(const struct run *r)
{
    double until = seconds_now() + r->seconds;
    for (uint64_t next = 0; counts.rounds < r->rounds;) {
        try_one();
        if (counts.tried < next)
            continue;
        next = counts.tried + LOOK_EVERY;
        strobe_mach_threads_look(table, nobody_is_new, NULL);
        alarm(HANG_SECONDS);
        if (seconds_now() > until)
            break;
    }
}

static int failed, passed;

static void is(bool holds, const char *what)
{
    if (!holds)
        printf("FAIL %s\n", what);
    *(holds ? &passed : &failed) += 1;
}

static uint32_t most_depth(void)
{
    uint32_t most = 0;
    for (uint32_t d = 0; d <= STROBE_STACK_DEPTH_MAX; d++)
        most = counts.depth[d] ? d : most;
    return most;
}

static void print_counts(double seconds, uint64_t stops, uint64_t goes)
{
    const struct counts *c = &counts;
    printf("%llu rounds in %.1f s, of %llu tries: %llu late, %llu gone, %llu left alone, %llu on their way out; "
           "%llu suspends, %llu resumes\n",
           (unsigned long long)c->rounds, seconds, (unsigned long long)c->tried, (unsigned long long)c->late,
           (unsigned long long)c->gone, (unsigned long long)c->refused, (unsigned long long)c->moved,
           (unsigned long long)stops, (unsigned long long)goes);
    printf("%u threads at a time, %llu started, %llu ended; let go by the watchdog: %llu\n", crew.size,
           (unsigned long long)atomic_load(&crew.started), (unsigned long long)atomic_load(&crew.ended),
           (unsigned long long)c->watched);
    if (!STACK_BOUNDS_ARE_KNOWN)
        return;
    printf("stacks: %llu whole, %llu in part, %llu in code of others, %llu impossible; %llu read safely, %llu cut, "
           "%llu doubtful, %llu of these in code of the graph\n",
           (unsigned long long)c->verdict[GRAPH_WHOLE], (unsigned long long)c->verdict[GRAPH_PART],
           (unsigned long long)c->verdict[GRAPH_ELSEWHERE], (unsigned long long)c->verdict[GRAPH_IMPOSSIBLE],
           (unsigned long long)c->safely, (unsigned long long)c->cut, (unsigned long long)c->doubtful,
           (unsigned long long)c->doubtful_own);
    printf("by depth:");
    for (uint32_t d = 0; d <= most_depth(); d += 8) {
        uint64_t n = 0;
        for (uint32_t k = d; k < d + 8; k++)
            n += c->depth[k];
        printf(" %u-%u %llu", d, d + 7, (unsigned long long)n);
    }
    printf("\n");
}

static int play(const struct run *r)
{
    table = calloc(1, sizeof *table);
    if (!table)
        return 2;
    random_state = r->seed * 0x9e3779b97f4a7c15u | 1;
    strobe_mach_host_init(&mach, table);
    crew.place.app = fake_mach_app();
    graph_learn(&crew.place);
    uint32_t names = fake_mach_names();
    int64_t rights = fake_mach_rights();
    uint64_t stops = fake_mach_calls("thread_suspend"), goes = fake_mach_calls("thread_resume");
    if (!crew_start(&crew, r->seed))
        return 2;
    double began = seconds_now();
    struct run tenth = {.rounds = r->rounds / 10, .seconds = r->seconds / 10};
    sample(&tenth);
    long before = resident_kib();
    struct run rest = {.rounds = r->rounds, .seconds = r->seconds - (seconds_now() - began)};
    sample(&rest);
    long grown = resident_kib() - before;
    double took = seconds_now() - began;
    uint32_t suspended = fake_mach_suspended();
    crew_stop(&crew);
    strobe_mach_threads_look(table, nobody_is_new, NULL);
    strobe_mach_threads_look(table, nobody_is_new, NULL);
    strobe_mach_threads_clear(table);
    stops = fake_mach_calls("thread_suspend") - stops;
    goes = fake_mach_calls("thread_resume") - goes;
    print_counts(took, stops, goes);
    printf("memory grew by %ld KiB\n", grown);
    is(counts.rounds > 0 && counts.verdict[GRAPH_WHOLE] + !STACK_BOUNDS_ARE_KNOWN > 0, "there were stacks");
    is(counts.verdict[GRAPH_IMPOSSIBLE] == 0, "no stack is impossible");
    is(counts.doubtful_own == 0, "no stack in code that keeps frame records is doubtful");
    is(counts.watched == 0, "no thread stood too long");
    is(stops >= goes && stops <= goes + counts.gone, "each suspend is resumed");
    is(suspended == 0, "nothing is left suspended");
    is(fake_mach_names() == names, "names are as they were");
    is(fake_mach_rights() == rights, "rights are as they were");
    is(grown <= GROWTH_MAX_KIB || !MEMORY_IS_OURS, "memory is constant");
    is(atomic_load(&crew.started) > crew.size && atomic_load(&crew.started) == atomic_load(&crew.ended),
       "threads ended and started");
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option names[] = {
        {"rounds", 1, 0, 'r'}, {"seconds", 1, 0, 's'}, {"threads", 1, 0, 't'}, {"seed", 1, 0, 'd'}, {0}};
    struct run r = {.rounds = 1000000, .seconds = 1e9, .seed = 1};
    crew = (struct crew){.size = CREW_MAX, .runs = 30, .rest_us = 2000, .joins = joins, .leaves = leaves};
    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;)
        switch (option) {
        case 'r': r.rounds = strtoull(optarg, NULL, 10); break;
        case 's': r.seconds = strtod(optarg, NULL); break;
        case 't': crew.size = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'd': r.seed = strtoull(optarg, NULL, 10); break;
        default: return 2;
        }
    if (crew.size < 1 || crew.size > CREW_MAX || r.rounds < 1)
        return 2;
    signal(SIGALRM, hangs);
    setvbuf(stdout, NULL, _IOLBF, 0);
    int status = play(&r);
    printf("%d passed, %d failed\n", passed, failed);
    return status ? status : failed > 0;
}
