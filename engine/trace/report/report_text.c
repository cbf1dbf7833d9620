/* Prints the report as aligned text. */
#include "engine/trace/report/report.h"

#include "engine/trace/report/report_cells.h"
#include "engine/trace/report/report_parts.h"
#include "engine/trace/report/report_sched.h"
#include "engine/trace/report/report_sections.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { METHOD_COLUMN = 58, CALLS_COLUMN = 12, WAIT_COLUMN = 68, ARGUMENT = 21, NAME_LEAST = 24 };

/* Last part of a path. */
static const char *base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static const char *end_of(const struct strobe_report *r)
{
    if (r->closed)
        return "ended normally";
    return r->exited ? "exited" : r->killed ? "killed" : "still running, or killed";
}

static void heading(const struct strobe_report *r, FILE *out)
{
    for (const char *p = r->command; *p; p++) /* an argument may be a whole script */
        putc(*p == '\n' ? ' ' : *p, out);
    if (r->command[0])
        putc('\n', out);
    fprintf(out, "process %" PRIu32 ", %s on the clock, %s of CPU, %zu %s", r->pid, strobe_cell_span(r->wall_ns).text,
            strobe_cell_span(r->cpu_ns).text, r->thread_count, r->thread_count == 1 ? "thread" : "threads");
    if (!strcmp(r->source, "session"))
        fprintf(out, ", %s", end_of(r));
    putc('\n', out);
    strobe_report_print_part(r, out);
}

/* Prints the process's figures, if known, and its hitches. */
static void print_report_process(const struct strobe_report *r, FILE *out)
{
    const struct strobe_report_process *p = &r->process;
    const char *between = "";
    if (p->span_ns) {
        fprintf(out, "used %s of a processor", strobe_cell_share(p->cpu_ns, p->span_ns).text);
        between = ", ";
    }
    if (p->footprint_peak_bytes) {
        fprintf(out, "%sat most %.1f MB", between, (double)p->footprint_peak_bytes / 1e6);
        between = ", ";
    }
    if (p->threads_max) {
        fprintf(out, "%sat most %" PRIu64 " %s at a time", between, p->threads_max,
                p->threads_max == 1 ? "thread" : "threads");
        between = ", ";
    }
    if (p->mach_traps)
        fprintf(out, "%s%" PRIu64 " Mach traps", between, p->mach_traps);
    if (p->values)
        putc('\n', out);
    if (!p->longest_ns)
        return;
    fprintf(out, "run loop late: %" PRIu64 " hitches, %" PRIu64 " hangs, %s in all; longest %s at %s", p->hitches,
            p->hangs, strobe_cell_span(p->late_ns).text, strobe_cell_span(p->longest_ns).text,
            strobe_cell_span(p->longest_begin_ns).text);
    fprintf(out, p->longest_in[0] ? ", in %s\n" : "\n", p->longest_in);
}

static void print_report_threads(const struct strobe_report *r, FILE *out)
{
    size_t shown = r->options.top && r->options.top < r->thread_count ? r->options.top : r->thread_count;
    fprintf(out, "\nThreads\n%10s %11s %11s %8s %8s %8s %9s %8s  %s\n", "tid", "wall", "CPU", "waiting", "off CPU",
            "unseen", "samples", "lost", "name");
    for (size_t i = 0; i < shown; i++) {
        const struct strobe_report_thread *t = &r->threads[i];
        fprintf(out, "%10" PRIu32 " %11s %11s %8s %8s %8s %9" PRIu64 " %8" PRIu64 "  %s%s", t->tid,
                strobe_cell_span(t->wall_ns).text, strobe_cell_span(t->cpu_ns).text,
                strobe_cell_share(t->wait_ns, t->wall_ns).text, strobe_cell_share(t->off_ns, t->wall_ns).text,
                strobe_cell_share(t->gap_ns, t->wall_ns).text, t->samples, t->lost, t->name,
                t->is_main ? " (main)" : "");
        if (t->restricted_ns)
            fprintf(out, " (not recorded after %s: seccomp)", strobe_cell_span(t->restricted_ns).text);
        putc('\n', out);
    }
    if (shown < r->thread_count)
        fprintf(out, "%10s %zu more\n", "...", r->thread_count - shown);
}

/* Returns the total that the shares of a table refer to, summed over all threads. For self times, it is the time in
 * which methods were innermost. For inclusive times, it contains waits and unseen time too, because these lie in
 * methods. */
static uint64_t seen_ns(const struct strobe_report *r, int inclusive)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < r->thread_count; i++)
        sum += r->threads[i].wall_ns -
               (inclusive ? 0 : r->threads[i].wait_ns + r->threads[i].off_ns + r->threads[i].gap_ns);
    return sum;
}

static uint64_t rank_key(const struct strobe_report *r, const struct strobe_report_method *m, int inclusive)
{
    return inclusive ? (r->options.by == STROBE_BY_CPU ? m->total_cpu_ns : m->total_ns)
                     : (r->options.by == STROBE_BY_CPU ? m->self_cpu_ns : m->self_ns);
}

/* Returns the length of a C++ name without its parameters. */
static size_t before_parameters(const char *text)
{
    const char *close = strrchr(text, ')');
    int open = 0;
    for (const char *p = close; p && p > text; p--) {
        open += (*p == ')') - (*p == '(');
        if (!open)
            return (size_t)(p - text);
    }
    return strlen(text);
}

/* Prints a name, cut to the width minus `used` columns. Parameters are cut first, and then the begin, because the end
 * of a name is more informative. */
static void print_report_name(const struct strobe_report *r, FILE *out, const char *text, size_t used)
{
    size_t room = r->options.width > used + NAME_LEAST ? r->options.width - used : NAME_LEAST;
    if (!r->options.width || strlen(text) <= room) {
        fputs(text, out);
        return;
    }
    size_t bytes = before_parameters(text);
    const char *tail = text[bytes] ? "()" : "";
    size_t keep = room - strlen(tail);
    if (bytes <= keep)
        fprintf(out, "%.*s%s", (int)bytes, text, tail);
    else
        fprintf(out, "...%.*s%s", (int)(keep - 3), text + bytes - (keep - 3), tail);
}

static void print_report_methods(const struct strobe_report *r, FILE *out, int inclusive)
{
    uint64_t whole = r->options.by == STROBE_BY_CPU ? r->cpu_ns : seen_ns(r, inclusive);
    size_t shown = 0, top = r->options.top ? r->options.top : r->method_count;
    fprintf(out, "\nMethods by %s time%s\n%8s %11s %11s %11s %11s%s  %s\n", inclusive ? "inclusive" : "self",
            r->options.by == STROBE_BY_CPU ? " (CPU)" : "", "share", "self", "self CPU", "inclusive", "incl. CPU",
            r->calls.recorded ? "       calls" : "", "method");
    for (; shown < top && shown < r->method_count; shown++) {
        const struct strobe_report_method *m = &(inclusive ? r->inclusive : r->methods)[shown];
        if (!rank_key(r, m, inclusive))
            break;
        fprintf(out, "%8s %11s %11s %11s %11s  ", strobe_cell_share(rank_key(r, m, inclusive), whole).text,
                strobe_cell_span(m->self_ns).text, strobe_cell_span(m->self_cpu_ns).text,
                strobe_cell_span(m->total_ns).text, strobe_cell_span(m->total_cpu_ns).text);
        if (r->calls.recorded)
            fprintf(out, "%10" PRIu64 "  ", m->slices);
        const char *image = strcmp(m->image, m->name) ? base(m->image) : "";
        print_report_name(r, out, m->name,
                          METHOD_COLUMN + (r->calls.recorded ? CALLS_COLUMN : 0) + (image[0] ? strlen(image) + 4 : 0));
        if (image[0])
            fprintf(out, image[0] == '[' ? "  %s" : "  [%s]", image);
        putc('\n', out);
    }
    if (shown < r->method_count_in_all)
        fprintf(out, "%8s %zu more\n", "...", r->method_count_in_all - shown);
}

static void print_report_waits(const struct strobe_report *r, FILE *out)
{
    if (!r->wait_kind_count)
        return;
    fprintf(out, "\nBlocking calls\n%11s %9s  %s\n", "in all", "calls", "kind");
    for (size_t i = 0; i < r->wait_kind_count; i++)
        fprintf(out, "%11s %9" PRIu64 "  %s\n", strobe_cell_span(r->wait_kinds[i].duration_ns).text,
                r->wait_kinds[i].count, r->wait_kinds[i].kind);
    fprintf(out, "\nLongest blocking calls\n%11s %11s  %-16s %-24s %s\n", "lasted", "began at", "kind", "thread",
            "method (argument), ended by");
    for (size_t i = 0; i < r->wait_count; i++) {
        const struct strobe_report_wait *w = &r->waits[i];
        char thread[64];
        snprintf(thread, sizeof thread, "%" PRIu32 " %s", w->tid, w->thread);
        fprintf(out, "%11s %11s  %-16s %-24s ", strobe_cell_span(w->duration_ns).text,
                strobe_cell_span(w->begin_ns).text, w->kind, thread);
        print_report_name(r, out, w->method, WAIT_COLUMN + (w->arg ? ARGUMENT : 0));
        if (w->arg)
            fprintf(out, w->arg > 0xffffffff ? " (0x%" PRIx64 ")" : " (%" PRIu64 ")", w->arg);
        if (w->waker_tid)
            fprintf(out, ", %" PRIu32 " %s", w->waker_tid, w->waker);
        fputs(w->unfinished ? " not ended\n" : w->nobody ? ", nobody\n" : "\n", out);
    }
}

static void tally_row(FILE *out, const char *name, const struct strobe_tally *t)
{
    fprintf(out,
            "%12s %11" PRIu64 " %11" PRIu64 " %11" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64
            " %9" PRId64 "\n",
            name, t->requests, t->sampled, t->gated, t->paused, t->reentrant, t->unwind_failed, t->dropped,
            t->overwritten);
}

static void print_report_losses(const struct strobe_report *r, FILE *out)
{
    fprintf(out, "\nEvents and where they went\n%12s %11s %11s %11s %9s %9s %9s %9s %9s\n", "kind", "events", "sampled",
            "gated", "paused", "reentrant", "no stack", "dropped", "overwrit.");
    for (unsigned k = 0; k < STROBE_KIND_COUNT; k++)
        if (r->by_kind[k].requests)
            tally_row(out, strobe_kind_name(k), &r->by_kind[k]);
    tally_row(out, "all", &r->events);
    fprintf(out,
            "stacks cut %" PRIu64 ", doubtful %" PRIu64 ", refused by a full table %" PRIu64
            "; slots half written %" PRIu64 ", damaged %" PRIu64 "; events of untracked threads %" PRIu64 "\n",
            r->stacks_cut, r->stacks_doubtful, r->stacks_refused, r->half_written, r->malformed, r->untracked);
    if (r->native_gaps)
        fprintf(out, "stacks whose native frames outside of managed ones were not found: %" PRIu64 "\n",
                r->native_gaps);
    if (r->engine_samples)
        fprintf(out, "samples that met the engine itself at work in a hook: %" PRIu64 ", shown as the hooked call's\n",
                r->engine_samples);
    if (r->calls.recorded)
        fprintf(out,
                "calls: %" PRIu64 ", %" PRIu64 " of them with a synthesized end; %" PRIu64
                " entries and exits recorded, %" PRIu64 " present, %" PRIu64 " overwritten, %" PRIu64
                " refused, %" PRIu64 " without a match\n",
                r->calls.calls, r->calls.repaired, r->calls.recorded, r->calls.present, r->calls.overwritten,
                r->calls.refused, r->calls.unmatched);
    if (r->short_waits)
        fprintf(out, "waits too short to be recorded: %" PRIu64 ", %s in all\n", r->short_waits,
                strobe_cell_span(r->short_wait_ns).text);
    if (r->passes)
        fprintf(out,
                "sampler: %" PRIu64 " passes, %s late on average, %" PRIu64 " too late; %" PRIu64 " stops, %" PRIu64
                " resumes, %" PRIu64 " not in time, %" PRIu64 " gone, %" PRIu64 " let go unread\n",
                r->passes, strobe_cell_span(r->lag_ns / r->passes).text, r->late_passes, r->suspends, r->resumes,
                r->suspend_late, r->suspend_gone, r->suspend_moved);
    if (r->stops.count)
        fprintf(out, "threads stood %" PRIu64 " times: %s (median), %s (99 %%), %s at most\n", r->stops.count,
                strobe_cell_span(r->stops.median).text, strobe_cell_span(r->stops.percentile_99).text,
                strobe_cell_span(r->stops.longest).text);
    for (size_t i = 0; i < r->feature_count; i++)
        fprintf(out, "feature: %s\n", r->features[i]);
    if (r->balanced)
        fprintf(out, "The accounting is consistent: every event is accounted for.\n");
    else
        fprintf(out, "THE ACCOUNTING IS NOT CONSISTENT: %s\n", r->verdict);
}

/* Prints the accounting in one line: number of samples, losses, consistency. */
static void summary(const struct strobe_report *r, FILE *out)
{
    uint64_t overwritten = r->events.overwritten > 0 ? (uint64_t)r->events.overwritten : 0;
    uint64_t lost = overwritten + r->events.dropped + r->events.unwind_failed;
    uint64_t broken = r->stacks_cut + r->stacks_doubtful + r->stacks_refused;
    fprintf(out, "\n%" PRIu64 " samples, ", r->events.sampled);
    if (lost)
        fprintf(out, "%" PRIu64 " lost (%" PRIu64 " overwritten, %" PRIu64 " dropped, %" PRIu64 " without a stack)",
                lost, overwritten, r->events.dropped, r->events.unwind_failed);
    else
        fprintf(out, "none lost");
    if (broken)
        fprintf(out, ", %" PRIu64 " stacks not whole", broken);
    if (r->native_gaps)
        fprintf(out, ", %" PRIu64 " without outer native frames", r->native_gaps);
    if (r->engine_samples)
        fprintf(out, ", %" PRIu64 " in the engine itself (left out of stacks)", r->engine_samples);
    if (r->calls.recorded)
        fprintf(out, "; %" PRIu64 " calls, %" PRIu64 " entries and exits lost", r->calls.calls,
                r->calls.overwritten + r->calls.refused);
    if (r->balanced)
        fprintf(out, "; the accounting is consistent (--verbose: details)\n");
    else
        fprintf(out, "\nTHE ACCOUNTING IS NOT CONSISTENT: %s\n", r->verdict);
}

static void facts(const struct strobe_report *r, FILE *out)
{
    if (r->fact_count)
        fprintf(out, "\nAs recorded\n");
    for (size_t i = 0; i < r->fact_count; i++)
        fprintf(out, "%14" PRIu64 "  %s\n", r->facts[i].value, r->facts[i].key);
}

static void print(const struct strobe_report *r, FILE *out)
{
    heading(r, out);
    print_report_process(r, out);
    print_report_threads(r, out);
    strobe_report_print_function(r, out);
    if (r->options.by == STROBE_BY_ALLOC) {
        strobe_report_print_allocations(r, out);
    } else {
        print_report_methods(r, out, 0);
        print_report_methods(r, out, 1);
    }
    strobe_report_print_lines(r, out);
    print_report_waits(r, out);
    strobe_report_print_sections(r, out);
    strobe_report_print_sched(r, out);
    if (!strcmp(r->source, "session") && r->options.verbose)
        print_report_losses(r, out);
    else if (!strcmp(r->source, "session"))
        summary(r, out);
    if (r->signal_taken)
        fprintf(out, "The program took signal %" PRIu32 ", by which threads are stopped: recorded by hooks only.\n",
                r->signal_taken);
    if (r->options.verbose)
        facts(r, out);
    if (r->warning_count)
        fprintf(out, "\nWarnings\n");
    for (size_t i = 0; i < r->warning_count; i++)
        fprintf(out, "  %s\n", r->warnings[i]);
}

/* Names come from the recorded program, so control characters, which a terminal would interpret, become question
 * marks. */
enum strobe_status strobe_report_print(const struct strobe_report *r, FILE *out)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *whole = open_memstream(&text, &bytes);
    if (whole)
        print(r, whole);
    if (!whole || fclose(whole) || !text) {
        free(text);
        return STROBE_IO;
    }
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        putc((c < ' ' && c != '\n') || c == 0x7f ? '?' : c, out);
    }
    free(text);
    return STROBE_OK;
}
