#include "engine/watch/finding.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct strobe_finding strobe_finding(enum strobe_finding_kind kind, uint64_t begin_ns, uint64_t end_ns)
{
    return (struct strobe_finding){.kind = kind,
                                   .begin_ns = begin_ns,
                                   .end_ns = end_ns < begin_ns ? begin_ns : end_ns,
                                   .blame = "",
                                   .stack = "",
                                   .key = "",
                                   .unseen = ""};
}

void strobe_finding_add(struct strobe_finding *f, const char *key, double value)
{
    if (f->value_count < sizeof f->values / sizeof *f->values)
        f->values[f->value_count++] = (struct strobe_finding_value){key, value};
}

void strobe_finding_add_ms(struct strobe_finding *f, const char *key, uint64_t ns)
{
    strobe_finding_add(f, key, (double)ns / 1e6);
}

double strobe_finding_value(const struct strobe_finding *f, const char *key)
{
    for (size_t i = 0; i < f->value_count; i++)
        if (!strcmp(f->values[i].key, key))
            return f->values[i].value;
    return NAN;
}

size_t strobe_finding_line_name(const char *name, char *to, size_t capacity)
{
    size_t bytes = 0;
    for (; name[bytes] && bytes + 1 < capacity; bytes++)
        to[bytes] = (unsigned char)name[bytes] < ' ' ? ' ' : name[bytes];
    to[bytes] = 0;
    return bytes;
}

void strobe_unseen_add(struct strobe_unseen *u, const char *format, ...)
{
    size_t used = strlen(u->text), comma = used ? 2 : 0, left = sizeof u->text - used;
    char reason[sizeof u->text];
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    if (bytes < 0 || (size_t)bytes + comma >= left)
        return;
    memcpy(u->text + used, "; ", comma);
    memcpy(u->text + used + comma, reason, (size_t)bytes + 1);
}

void strobe_unseen_view(struct strobe_unseen *u, const struct strobe_watch_view *view, unsigned needs)
{
    if ((needs & STROBE_NEEDS_CALLS) && view->unseen_below_ns)
        strobe_unseen_add(u, "calls shorter than %g ms may be missing", (double)view->unseen_below_ns / 1e6);
    if ((needs & STROBE_NEEDS_TIMES) && view->resolution_ns > 1)
        strobe_unseen_add(u, "times are within %g ms", (double)view->resolution_ns / 1e6);
    if ((needs & STROBE_NEEDS_DUE) && !view->knows_due)
        strobe_unseen_add(u, "the due time is unknown, so its wait is not counted");
}
