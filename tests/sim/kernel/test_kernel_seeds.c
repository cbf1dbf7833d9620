/* The virtual kernel under many seeds: a seed gives the same run on each machine. Under the adversarial schedule no
 * item and no count is lost, and no two threads are in one critical section.
 *
 * Ten threads use all operations of the kernel. Each thread has a separate stream of random choices. */
#include "tests/sim/support/stage.h"

#include "engine/base/atomic.h"
#include "sim/kernel/random.h"

enum { ACTORS = 10, ACTS = 60, PLACES = 3 };

static struct sim_mutex locks[PLACES];
static struct sim_rwlock shelf;
static struct sim_mutex queue_lock;
static struct sim_cond not_empty;
static struct sim_sem tokens;
static struct sim_thread *actors[ACTORS];
static const struct sim_thread *inside[PLACES]; /* the thread in each critical section */
static uint32_t readers_in, writers_in;
static uint32_t queued, taken, put, tokens_taken, tokens_put;
static strobe_a32 counter; /* incremented by compare-and-swap, as in the engine */
static uint32_t added;

static void visit(uint32_t place, uint64_t ns)
{
    sim_mutex_lock(&locks[place]);
    assert_null(inside[place]);
    inside[place] = sim_self();
    sim_compute(ns);
    assert_ptr_equal(inside[place], sim_self());
    inside[place] = NULL;
    sim_mutex_unlock(&locks[place]);
}

static void browse(struct sim_random *r)
{
    if (sim_random_below(r, 3)) {
        sim_rwlock_read(&shelf);
        readers_in++;
        assert_int_equal(writers_in, 0);
        sim_compute(sim_random_below(r, 20 * US));
        readers_in--;
    } else {
        sim_rwlock_write(&shelf);
        assert_int_equal(readers_in + writers_in++, 0);
        sim_compute(sim_random_below(r, 20 * US));
        writers_in--;
    }
    sim_rwlock_unlock(&shelf);
}

/* Each thread both produces and consumes, so that all waits end. */
static void put_one(void)
{
    sim_mutex_lock(&queue_lock);
    queued++;
    put++;
    sim_cond_notify(&not_empty);
    sim_mutex_unlock(&queue_lock);
}

static void take_one(void)
{
    sim_mutex_lock(&queue_lock);
    uint64_t until = sim_now() + 200 * US;
    while (!queued && sim_now() < until)
        sim_cond_wait(&not_empty, &queue_lock, until - sim_now());
    if (queued) {
        queued--;
        taken++;
    }
    sim_mutex_unlock(&queue_lock);
}

static void add_one(void)
{
    uint32_t was = strobe_load_relaxed(&counter);
    while (!strobe_cas_acq_rel(&counter, &was, was + 1))
        ;
    added++;
}

static void stop_someone(struct sim_random *r)
{
    struct sim_thread *t = actors[sim_random_below(r, ACTORS - 2)];
    enum sim_stop_mode way = sim_random_below(r, 2) ? SIM_STOP_SIGNAL : SIM_STOP_AT_ONCE;
    enum strobe_status status = sim_stop(t, way, 1 + sim_random_below(r, 50 * US));
    stage_log(status);
    if (status != STROBE_OK)
        return;
    assert_int_not_equal(t->state, SIM_RUNNING);
    assert_int_not_equal(t->state, SIM_ENDED);
    uint64_t cpu_ns = sim_cpu_ns(t), left_ns = t->compute_left_ns;
    sim_compute(sim_random_below(r, 30 * US));
    assert_int_equal(sim_cpu_ns(t), cpu_ns);
    assert_int_equal(t->compute_left_ns, left_ns);
    assert_int_equal(sim_continue(t), STROBE_OK);
}

static void act(struct sim_random *r, bool may_stop)
{
    uint64_t ns = sim_random_below(r, 50 * US);
    switch (sim_random_below(r, may_stop ? 12 : 11)) {
    case 0: sim_compute(ns); break;
    case 1: visit((uint32_t)sim_random_below(r, PLACES), ns); break;
    case 2: browse(r); break;
    case 3: put_one(); break;
    case 4: take_one(); break;
    case 5:
        tokens_put++;
        sim_sem_post(&tokens);
        break;
    case 6: tokens_taken += sim_sem_wait(&tokens, ns) <= SIM_WAKE_THREAD; break;
    case 7:
        sim_charge(ns / 16);
        add_one();
        add_one();
        break;
    case 8: sim_park(ns); break;
    case 9: sim_unpark(actors[sim_random_below(r, ACTORS)]); break;
    case 10: sim_random_below(r, 2) ? (void)sim_sleep_until(sim_now() + ns) : (void)sim_io(ns); break;
    case 11: stop_someone(r); break;
    }
}

/* The last two threads are a realtime thread that stops others, and a thread that waits for the end of all others. */
static void acts(void *self)
{
    struct sim_thread **place = self;
    uint32_t index = (uint32_t)(place - actors);
    struct sim_random r = sim_random_seed(index, 99);
    uint64_t before = 0;
    for (int i = 0; i < ACTS; i++) {
        act(&r, index == ACTORS - 1);
        stage_log(sim_now());
        assert_true(sim_now() >= before);
        before = sim_now();
    }
}

static uint64_t seed_playing;

static uint64_t turn_ns; /* 0: all cores share one run queue */

static void play_seed(uint64_t seed, enum sim_schedule schedule, uint32_t cores)
{
    seed_playing = seed;
    memset(locks, 0, sizeof locks);
    memset(&shelf, 0, sizeof shelf);
    memset(&queue_lock, 0, sizeof queue_lock);
    memset(&not_empty, 0, sizeof not_empty);
    memset(&tokens, 0, sizeof tokens);
    queued = taken = put = tokens_taken = tokens_put = added = 0;
    counter = 0;
    stage_open(&(struct sim_kernel_options){.seed = seed,
                                            .cores = cores,
                                            .schedule = schedule,
                                            .switch_ns = 1500,
                                            .signal_ns = 3 * US,
                                            .limit_ns = 10000 * MS,
                                            .machine = {.turn_ns = turn_ns}});
    for (uint32_t i = 0; i < ACTORS; i++)
        actors[i] = sim_thread_start(
            kernel, &(struct sim_thread_options){
                        .realtime = i == ACTORS - 1, .entry = acts, .nice = (int)i % 3, .arg = &actors[i]});
    play(SIM_END_DONE);
    assert_int_equal(sim_stopped_count(kernel), 0);
    assert_int_equal(queued, put - taken);
    assert_int_equal(tokens.count, tokens_put - tokens_taken);
    assert_int_equal(counter, added);
    for (uint32_t i = 0; i < ACTORS; i++) {
        stage_log(sim_cpu_ns(actors[i]));
        stage_log(actors[i]->voluntary_switches);
        stage_log(actors[i]->involuntary_switches);
        stage_log(actors[i]->held_ns);
    }
    stage_close();
}

static void one_seed_does_the_same_twice(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        enum sim_schedule schedule = seed % 2 ? SIM_ADVERSARIAL : SIM_FAIR;
        play_seed(seed, schedule, 1 + seed % 4);
        uint64_t first = log_hash;
        play_seed(seed, schedule, 1 + seed % 4);
        assert_int_equal(log_hash, first);
    }
}

static void with_a_run_queue_for_each_core_all_threads_end_and_runs_repeat(void **state)
{
    (void)state;
    turn_ns = 200 * US;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        play_seed(seed, SIM_FAIR, 1 + seed % 4);
        uint64_t first = log_hash;
        play_seed(seed, SIM_FAIR, 1 + seed % 4);
        assert_int_equal(log_hash, first);
    }
    turn_ns = 0;
}

static void the_adversary_does_otherwise_for_another_seed(void **state)
{
    (void)state;
    play_seed(1, SIM_ADVERSARIAL, 2);
    uint64_t first = log_hash;
    play_seed(2, SIM_ADVERSARIAL, 2);
    assert_int_not_equal(log_hash, first);
    play_seed(1, SIM_FAIR, 2);
    first = log_hash;
    play_seed(2, SIM_FAIR, 2);
    assert_int_equal(log_hash, first);
}

/* The stored hashes must be the same with each compiler and machine. A change of the scheduling rules changes them. */
static void compilers_and_machines_agree(void **state)
{
    (void)state;
    play_seed(7, SIM_FAIR, 4);
    uint64_t fair = log_hash;
    play_seed(7, SIM_ADVERSARIAL, 4);
    uint64_t adversarial = log_hash;
    print_message("logs hash to 0x%016llx and 0x%016llx\n", (unsigned long long)fair, (unsigned long long)adversarial);
    assert_true(fair == 0xd12345d67b03f148);
    assert_true(adversarial == 0xf79d3b68ccc2d350);
}

static void whatever_the_adversary_chooses_nothing_is_lost(void **state)
{
    (void)state;
    uint32_t rounds = stage_rounds(300);
    for (uint64_t seed = 1; seed <= rounds; seed++)
        play_seed(seed, SIM_ADVERSARIAL, 1 + seed % 4);
    seed_playing = 0;
}

static int print_seed(void **state)
{
    (void)state;
    if (seed_playing)
        print_error("seed %llu\n", (unsigned long long)seed_playing);
    return 0;
}

static void compute_forever(void *nothing)
{
    (void)nothing;
    for (;;)
        sim_compute(1000000000);
}

static void take_turns(void *nothing)
{
    (void)nothing;
    for (int i = 0; i < 200; i++)
        sim_compute(1000000);
}

/* Threads that compute all the time keep no other thread from the processors for long, whatever the adversary draws. */
static void no_ready_thread_starves(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct sim_kernel_options options = {
            .seed = seed, .cores = 2, .schedule = SIM_ADVERSARIAL, .limit_ns = UINT64_C(20000000000)};
        kernel = sim_kernel_open(&options, NULL);
        assert_non_null(kernel);
        for (uint32_t i = 0; i < 7; i++) {
            struct sim_thread_options thread = {
                .name = "one", .tid = 1 + i, .daemon = i < 4, .entry = i < 4 ? compute_forever : take_turns};
            assert_non_null(sim_thread_start(kernel, &thread));
        }
        if (sim_kernel_run(kernel, &error) != SIM_END_DONE)
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
        sim_kernel_close(kernel);
    }
}

/* Increments by a load and a store. The adversarial schedule must find a lost increment. */
static void add_badly(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++) {
        uint32_t was = strobe_load_relaxed(&counter);
        strobe_store_relaxed(&counter, was + 1);
    }
}

static uint32_t lost_under(enum sim_schedule schedule, uint64_t seed)
{
    counter = 0;
    stage_open(&(struct sim_kernel_options){.seed = seed, .cores = 2, .schedule = schedule, .limit_ns = 1000 * MS});
    enter("a", add_badly, NULL);
    enter("b", add_badly, NULL);
    play(SIM_END_DONE);
    stage_close();
    return 200 - counter;
}

static void a_race_inside_the_engine_is_found_by_the_adversary_alone(void **state)
{
    (void)state;
    uint32_t found = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        found += lost_under(SIM_ADVERSARIAL, seed) > 0;
        assert_int_equal(lost_under(SIM_FAIR, seed), 0);
    }
    assert_true(found >= 10);
}

static uint32_t spurious;

static void waits_in_vain(void *arg)
{
    struct sim_mutex m = {.name = "m"};
    struct sim_cond c = {.name = "c"};
    (void)arg;
    sim_mutex_lock(&m);
    for (int i = 0; i < 50; i++) {
        uint64_t until = sim_now() + 20 * MS;
        enum sim_wake how = sim_cond_wait(&c, &m, 20 * MS);
        assert_true(how == SIM_WAKE_TIMEOUT || how == SIM_WAKE_SPURIOUS);
        assert_null(sim_self()->waker);
        assert_int_equal(how == SIM_WAKE_TIMEOUT, sim_self()->woken_ns == until);
        spurious += how == SIM_WAKE_SPURIOUS;
    }
}

static void conditions_end_for_no_reason_but_rarely(void **state)
{
    (void)state;
    spurious = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        stage_open(&(struct sim_kernel_options){
            .seed = seed, .cores = 1, .schedule = SIM_ADVERSARIAL, .limit_ns = UINT64_MAX});
        enter("a", waits_in_vain, NULL);
        play(SIM_END_DONE);
        stage_close();
    }
    assert_true(spurious > 2 && spurious < 60);
}

static void atomic_operations_do_nothing_else_where_no_kernel_runs(void **state)
{
    (void)state;
    counter = 0;
    added = 0;
    for (int i = 0; i < 100000; i++)
        add_one();
    assert_int_equal(counter, 100000);
    sim_atomic_preempt();
    assert_null(sim_self());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_ready_thread_starves),
        cmocka_unit_test(one_seed_does_the_same_twice),
        cmocka_unit_test(with_a_run_queue_for_each_core_all_threads_end_and_runs_repeat),
        cmocka_unit_test(the_adversary_does_otherwise_for_another_seed),
        cmocka_unit_test(compilers_and_machines_agree),
        cmocka_unit_test_teardown(whatever_the_adversary_chooses_nothing_is_lost, print_seed),
        cmocka_unit_test(a_race_inside_the_engine_is_found_by_the_adversary_alone),
        cmocka_unit_test(conditions_end_for_no_reason_but_rarely),
        cmocka_unit_test(atomic_operations_do_nothing_else_where_no_kernel_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
