#include "sim/app/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static bool sim_text_reserve_bytes(struct sim_text *t, size_t need)
{
    if (need <= t->room)
        return true;
    char *wider = realloc(t->text, need * 2);
    if (!wider)
        return false;
    t->text = wider;
    t->room = need * 2;
    return true;
}

void sim_text_put(struct sim_text *t, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    t->failed = t->failed || n < 0 || !sim_text_reserve_bytes(t, t->bytes + (size_t)n + 1);
    if (!t->failed)
        t->bytes += (size_t)vsnprintf(t->text + t->bytes, t->room - t->bytes, format, again);
    va_end(again);
}
