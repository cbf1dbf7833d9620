#include "engine/trace/report/report_cells.h"
#include "engine/trace/report/report_parts.h"

#include <inttypes.h>
#include <string.h>

void strobe_report_print_part(const struct strobe_report *r, FILE *out)
{
    const struct strobe_report_options *o = &r->options;
    if (o->from_ns || o->to_ns)
        fprintf(out, "only the part from %s to %s\n", strobe_cell_span(o->from_ns).text,
                strobe_cell_span(o->from_ns + r->wall_ns).text);
    if (o->thread)
        fprintf(out, "only thread %s\n", o->thread);
}

/* ---- callers and callees */

static void print_report_relations(const struct strobe_report *r, FILE *out, const char *heading,
                                   const struct strobe_report_relation *list, size_t count)
{
    size_t shown = r->options.top && r->options.top < count ? r->options.top : count;
    if (!count)
        return;
    fprintf(out, "\n%s\n%8s %11s %11s  %s\n", heading, "share", "wall", "CPU", "function");
    for (size_t i = 0; i < shown; i++)
        fprintf(out, "%8s %11s %11s  %s\n", strobe_cell_share(list[i].ns, r->function.ns).text,
                strobe_cell_span(list[i].ns).text, strobe_cell_span(list[i].cpu_ns).text,
                list[i].name[0] ? list[i].name : "(none: outermost)");
    if (shown < count)
        fprintf(out, "%8s %zu more\n", "...", count - shown);
}

void strobe_report_print_function(const struct strobe_report *r, FILE *out)
{
    if (!r->options.function)
        return;
    fprintf(out, "\n%s: %s inclusive, %s of CPU\n", r->function.name, strobe_cell_span(r->function.ns).text,
            strobe_cell_span(r->function.cpu_ns).text);
    print_report_relations(r, out, "Called by", r->callers, r->caller_count);
    print_report_relations(r, out, "Calls", r->callees, r->callee_count);
}

/* ---- allocations */

static void allocating_methods(const struct strobe_report *r, FILE *out, int inclusive)
{
    size_t top = r->options.top ? r->options.top : r->method_count;
    fprintf(out, "\nMethods by %s allocations\n%8s %11s %11s %11s %11s  %s\n", inclusive ? "inclusive" : "own", "share",
            "own", "calls", "inclusive", "incl. calls", "method");
    for (size_t i = 0; i < top && i < r->method_count; i++) {
        const struct strobe_report_method *m = &(inclusive ? r->inclusive : r->methods)[i];
        uint64_t key = inclusive ? m->alloc_total_bytes : m->alloc_self_bytes;
        if (!key)
            break;
        fprintf(out, "%8s %11s %11" PRIu64 " %11s %11" PRIu64 "  %s\n", strobe_cell_share(key, r->allocated.bytes).text,
                strobe_cell_bytes(m->alloc_self_bytes).text, m->alloc_self_count,
                strobe_cell_bytes(m->alloc_total_bytes).text, m->alloc_total_count, m->name);
    }
}

void strobe_report_print_allocations(const struct strobe_report *r, FILE *out)
{
    fprintf(out, "\nallocated: %s in %" PRIu64 " calls\n", strobe_cell_bytes(r->allocated.bytes).text,
            r->allocated.count);
    if (!r->allocated.bytes) {
        fprintf(out, "no sample knows of any: was it recorded with --metrics alloc?\n");
        return;
    }
    allocating_methods(r, out, 0);
    allocating_methods(r, out, 1);
    fprintf(out, "\nAllocations by stack\n%8s %11s %11s  %s\n", "share", "bytes", "calls", "stack");
    for (size_t i = 0; i < r->stack_count; i++)
        fprintf(out, "%8s %11s %11" PRIu64 "  %s\n", strobe_cell_share(r->stacks[i].bytes, r->allocated.bytes).text,
                strobe_cell_bytes(r->stacks[i].bytes).text, r->stacks[i].count, r->stacks[i].path);
    if (r->unplaced.bytes)
        fprintf(out, "%8s %11s %11" PRIu64 "  in no stack: no later sample shows an allocation\n",
                strobe_cell_share(r->unplaced.bytes, r->allocated.bytes).text,
                strobe_cell_bytes(r->unplaced.bytes).text, r->unplaced.count);
}

/* ---- lines */

void strobe_report_print_lines(const struct strobe_report *r, FILE *out)
{
    if (!r->options.lines)
        return;
    fprintf(out, "\nLines by samples\n");
    if (!r->line_count)
        fprintf(out, "none: no debug information was found for where samples were\n");
    else
        fprintf(out, "%8s %9s  %-32s %s\n", "share", "samples", "line", "method");
    for (size_t i = 0; i < r->line_count; i++) {
        const struct strobe_report_line *l = &r->lines[i];
        const char *slash = strrchr(l->file, '/');
        char place[300];
        snprintf(place, sizeof place, "%s:%" PRIu32, slash && slash[1] ? slash + 1 : l->file, l->line);
        fprintf(out, "%8s %9" PRIu64 "  %-32s %s\n", strobe_cell_share(l->samples, r->line_samples).text, l->samples,
                place, l->method);
    }
    if (r->line_count && r->line_unknown)
        fprintf(out, "%8s %9" PRIu64 "  where there is no debug information\n",
                strobe_cell_share(r->line_unknown, r->line_samples).text, r->line_unknown);
}
