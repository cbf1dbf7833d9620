#include "sim/cmd/against.h"

#include "engine/util/array.h"

#include <stdlib.h>

enum { WORST = 10, NEAR_POINTS = 1, FAR_POINTS = 5 };

static double fraction_of_ns(double ns, double of_ns)
{
    return of_ns > 0 ? ns / of_ns : 0;
}

static void note_causes(struct strobe_against_row *row, const struct sim_result *r)
{
    const struct sim_score *s = &r->score;
    double all = (double)s->thread_ns, longest = 0, unseen = (double)s->unseen_ns;
    double running = (double)s->running_ns - (double)s->running_agree_ns;
    double wrong = all - (double)s->agree_ns;
    for (size_t i = 0; i < r->thread_count; i++)
        longest = (double)r->threads[i].thread_ns > longest ? (double)r->threads[i].thread_ns : longest;
    row->unseen = fraction_of_ns(unseen, all);
    row->running = fraction_of_ns(running, all);
    row->starved = fraction_of_ns((double)s->starved_wrong_ns, all);
    row->waiting = fraction_of_ns(wrong - running, all);
    row->blocked_error = s->blocked_error;
    row->overhead = s->overhead;
    row->wanted = fraction_of_ns((double)s->running_ns, longest);
    row->had = fraction_of_ns((double)s->app_cpu_ns, longest);
    row->threads = (uint32_t)r->thread_count;
}

enum strobe_status strobe_against_add(struct strobe_against *a, bool judged, const struct sim_result *result)
{
    if (!judged) {
        if (a->count)
            a->rows[a->count - 1].other = result->score.agreement;
        return STROBE_OK;
    }
    if (!strobe_array_reserve(&a->rows, &a->room, a->count + 1))
        return STROBE_IO;
    struct strobe_against_row *row = &a->rows[a->count++];
    *row = (struct strobe_against_row){.seed = result->seed, .judged = result->score.agreement};
    note_causes(row, result);
    return STROBE_OK;
}

static int furthest_below_first(const void *a, const void *b)
{
    const struct strobe_against_row *x = a, *y = b;
    double below_x = x->other - x->judged, below_y = y->other - y->judged;
    if (below_x < below_y || below_x > below_y)
        return below_x < below_y ? 1 : -1;
    return x->seed < y->seed ? -1 : 1;
}

static size_t count_below(const struct strobe_against *a, double points)
{
    size_t count = 0;
    for (size_t i = 0; i < a->count; i++)
        count += 100 * (a->rows[i].other - a->rows[i].judged) > points;
    return count;
}

void strobe_against_print(struct strobe_against *a, const char *policy, const char *other, FILE *out)
{
    if (!a->count)
        return;
    qsort(a->rows, a->count, sizeof *a->rows, furthest_below_first);
    size_t near = count_below(a, NEAR_POINTS), far = count_below(a, FAR_POINTS);
    fprintf(out, "%s is below %s by more than %d point in %zu of %zu seeds (%.1f %%), by more than %d in %zu\n", policy,
            other, NEAR_POINTS, near, a->count, 100 * (double)near / (double)a->count, FAR_POINTS, far);
    fprintf(out, "\n  %-10s %8s %8s %8s   %8s %8s %8s %8s %8s %8s %7s %7s %7s\n", "seed", policy, other, "below",
            "unseen", "running", "starved", "waiting", "blocked", "overhead", "threads", "wanted", "had");
    for (size_t i = 0; i < a->count && i < WORST; i++) {
        const struct strobe_against_row *r = &a->rows[i];
        fprintf(out,
                "  %-10llu %7.2f%% %7.2f%% %8.2f   %7.2f%% %7.2f%% %7.2f%% %7.2f%% %7.2f%% %7.2f%% %7u %7.2f %7.2f\n",
                (unsigned long long)r->seed, 100 * r->judged, 100 * r->other, 100 * (r->other - r->judged),
                100 * r->unseen, 100 * r->running, 100 * r->starved, 100 * r->waiting, 100 * r->blocked_error,
                100 * r->overhead, r->threads, r->wanted, r->had);
    }
    fprintf(out,
            "\n  unseen: %s says nothing. running, waiting: what it says is wrong, unseen time included, while\n"
            "  the thread runs or wants to, and while it waits. These are parts of all threads' time. starved: the\n"
            "  part of `running` in which a thread waits for a processor that it never gets again. Only a sampler\n"
            "  that reads threads which do not run, as the policy ideal does, sees where it is.\n"
            "  blocked: by how much blocked time is wrong. wanted, had: processors, at a time, on average.\n",
            policy);
}

void strobe_against_close(struct strobe_against *a)
{
    free(a->rows);
    *a = (struct strobe_against){0};
}
