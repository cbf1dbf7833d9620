/* The whole library on the fake Mach, beside threads that allocate, lock, end and start:
 *
 *     mach_capture [--seconds S] [--threads N] [--seed N]
 *
 * Captures with a fast sampler. Each stack must be possible (graph.h), those of hooks and those of stopped threads. The
 * accounting must be consistent, and the app must be restored. Prints counts, and `N passed, N failed` last. */
#include "engine/base/error.h"
#include "tests/mach_stress/crew.h"

#include "engine/backend/mach/mach.h"
#include "engine/trace/session/reader.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STACK_BOUNDS_ARE_KNOWN = !THREAD_SANITIZER }; /* else threads stop late; see stress.c */

enum { HANG_SECONDS = 60, PRINTED_MAX = 5 };

static struct crew crew;
static int failed, passed;
static uint64_t verdicts[2][GRAPH_IMPOSSIBLE + 1], doubtful[2], doubtful_own[2], cut[2];

static void is(bool holds, const char *what)
{
    if (!holds)
        printf("FAIL %s\n", what);
    *(holds ? &passed : &failed) += 1;
}

/* Prints the failure with `write`, because any thread may get the signal and may hold any lock. */
static void hangs(int number)
{
    static const char text[] = "FAIL it hangs\n0 passed, 1 failed\n";
    (void)number;
    if (write(1, text, sizeof text - 1) > 0)
        _exit(1);
    _exit(2);
}

static bool create(const char *path)
{
    struct strobe_config c;
    struct strobe_session s;
    strobe_config_default(&c);
    c.interval_main_ns = c.interval_other_ns = 0;
    c.async_interval_ns = 50000;
    c.metrics = STROBE_METRIC_CPU | STROBE_METRIC_ALLOC;
    c.ring_slots = 1 << 18;
    c.stack_nodes = 1 << 20;
    c.threads_max = 1 << 14;
    if (strobe_session_create(path, &c, "stress", 1, &s) != STROBE_OK)
        return false;
    strobe_session_unmap(&s);
    close(s.fd);
    return true;
}

/* ---- stacks */

/* Judges a stack. Index 0: of a hook; 1: of a stopped thread. The stack of a waiting thread is that of its hook,
 * also when the sampler took it. */
static void judge(const struct strobe_reader *reader, const struct strobe_record *r)
{
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint32_t count, depth;
    int who = r->kind == STROBE_KIND_ASYNC;
    if (r->stack == 0 || r->flags & STROBE_FLAG_TABLE_FULL)
        return;
    bool has_frames =
        strobe_stack_frames(&reader->session.stacks, r->stack, frames, STROBE_STACK_DEPTH_MAX, &count) == STROBE_OK;
    enum graph_verdict v = has_frames ? graph_judge(frames, count, 1, &depth) : GRAPH_IMPOSSIBLE;
    bool ends_early = r->flags & (STROBE_FLAG_CUT | STROBE_FLAG_DOUBTFUL);
    if (v == GRAPH_PART && !ends_early)
        v = GRAPH_IMPOSSIBLE;
    verdicts[who][v] += r->count;
    cut[who] += r->flags & STROBE_FLAG_CUT ? r->count : 0;
    doubtful[who] += r->flags & STROBE_FLAG_DOUBTFUL ? r->count : 0;
    doubtful_own[who] += r->flags & STROBE_FLAG_DOUBTFUL && v != GRAPH_ELSEWHERE ? r->count : 0;
    if (v != GRAPH_IMPOSSIBLE || verdicts[who][v] > PRINTED_MAX || !has_frames)
        return;
    fprintf(stderr, "impossible, of kind %u, flags %#x:\n", (unsigned)r->kind, (unsigned)r->flags);
    graph_print(frames, count);
}

static void print_stacks(int who, const char *name)
{
    const uint64_t *v = verdicts[who];
    printf("%s: %llu whole, %llu in part, %llu in code of others, %llu impossible; %llu cut, %llu doubtful, %llu of "
           "these in code of the graph\n",
           name, (unsigned long long)v[GRAPH_WHOLE], (unsigned long long)v[GRAPH_PART],
           (unsigned long long)v[GRAPH_ELSEWHERE], (unsigned long long)v[GRAPH_IMPOSSIBLE],
           (unsigned long long)cut[who], (unsigned long long)doubtful[who], (unsigned long long)doubtful_own[who]);
}

static void look_at(const char *path)
{
    struct strobe_reader *reader;
    struct strobe_error error = {""};
    if (strobe_reader_open(path, &reader, &error) != STROBE_OK) {
        printf("%s\n", error.text);
        is(false, "the session can be read");
        return;
    }
    for (size_t i = 0; i < reader->item_count; i++)
        judge(reader, &reader->items[i].record);
    const struct strobe_session_header *h = reader->session.header;
    struct strobe_stop_times stood = strobe_stops_read(&h->stops);
    printf("%u threads in the session, %llu samples, %llu overwritten; %llu suspends, %llu resumes, %llu late, %llu "
           "gone; passes %llu, of which late %llu; stood for %.1f us, of a hundred 99 for less than %.1f\n",
           reader->thread_count, (unsigned long long)reader->samples, (unsigned long long)reader->overwrote,
           (unsigned long long)reader->suspends, (unsigned long long)reader->resumes,
           (unsigned long long)strobe_load_relaxed(&h->suspend_late),
           (unsigned long long)strobe_load_relaxed(&h->suspend_gone),
           (unsigned long long)strobe_load_relaxed(&h->async_passes),
           (unsigned long long)strobe_load_relaxed(&h->async_late_passes),
           (double)strobe_reader_span_ns(reader, stood.median) / 1e3,
           (double)strobe_reader_span_ns(reader, stood.percentile_99) / 1e3);
    print_stacks(0, "stacks that hooks took");
    print_stacks(1, "stacks of stopped threads");
    is(reader->closed && reader->malformed == 0, "the session is whole");
    is(strobe_reader_check(reader, &error), *error.text ? error.text : "its accounting is consistent");
    is(reader->suspends == reader->resumes && reader->suspends > 0, "each suspend is resumed");
    is(verdicts[0][GRAPH_WHOLE] > 0 && verdicts[1][GRAPH_WHOLE] + !STACK_BOUNDS_ARE_KNOWN > 0, "there were stacks");
    is(verdicts[0][GRAPH_IMPOSSIBLE] == 0, "no stack of a hook is impossible");
    is(verdicts[1][GRAPH_IMPOSSIBLE] == 0 || !STACK_BOUNDS_ARE_KNOWN, "no stack of a stopped thread is impossible");
    is(doubtful_own[0] == 0 && (doubtful_own[1] == 0 || !STACK_BOUNDS_ARE_KNOWN),
       "no stack in code that keeps frame records is doubtful");
    strobe_reader_close(reader);
}

/* ---- all */

static int play(double seconds, uint64_t seed)
{
    struct strobe_error error = {""};
    char path[TEMPORARY_BYTES];
    temporary_path(path, "strobe-mach-stress-%d", (int)getpid());
    crew.place.app = fake_mach_app();
    graph_learn(&crew.place);
    uint32_t names = fake_mach_names();
    int64_t rights = fake_mach_rights();
    if (!create(path))
        return 2;
    if (strobe_mach_start(&(struct strobe_mach_options){.session_path = path}, NULL, &error) != STROBE_OK) {
        printf("%s\n", error.text);
        unlink(path);
        return 2;
    }
    if (!crew_start(&crew, seed))
        return 2;
    for (double left = seconds; left > 0; left -= 0.1) {
        alarm(HANG_SECONDS);
        usleep(100000);
    }
    bool while_they_run = seed % 2;
    if (while_they_run)
        strobe_mach_stop();
    is(!while_they_run || fake_mach_suspended() == 0, "nothing is left suspended");
    crew_stop(&crew);
    strobe_mach_stop();
    printf("%u threads at a time, %llu started, %llu ended\n", crew.size,
           (unsigned long long)atomic_load(&crew.started), (unsigned long long)atomic_load(&crew.ended));
    look_at(path);
    unlink(path);
    is(fake_mach_suspended() == 0, "nothing is suspended in the end");
    is(fake_mach_names() == names, "names are as they were");
    is(fake_mach_rights() == rights, "rights are as they were");
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option names[] = {{"seconds", 1, 0, 's'}, {"threads", 1, 0, 't'}, {"seed", 1, 0, 'd'}, {0}};
    double seconds = 10;
    uint64_t seed = 1;
    crew = (struct crew){.size = CREW_MAX, .runs = 30, .rest_us = 2000};
    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;)
        switch (option) {
        case 's': seconds = strtod(optarg, NULL); break;
        case 't': crew.size = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'd': seed = strtoull(optarg, NULL, 10); break;
        default: return 2;
        }
    if (crew.size < 1 || crew.size > CREW_MAX)
        return 2;
    signal(SIGALRM, hangs);
    setvbuf(stdout, NULL, _IOLBF, 0);
    int status = play(seconds, seed);
    printf("%d passed, %d failed\n", passed, failed);
    return status ? status : failed > 0;
}
