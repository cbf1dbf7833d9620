/* Opens the session that an importer of samples made, checks its accounting, and prints its stacks. For tests; asserts
 * by CMocka. */
#ifndef STROBE_UNIT_SUPPORT_IMPORTED_H
#define STROBE_UNIT_SUPPORT_IMPORTED_H

#include "engine/base/error.h"
#include "engine/trace/export/convert.h"
#include "engine/trace/import/samples_store.h"
#include "engine/trace/session/reader.h"
#include "engine/trace/symbols/symbols.h"
#include "tests/support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct imported {
    struct strobe_reader *reader;
    struct strobe_symbols *symbols;
    int fd;
};

/* Makes the session, opens it, and checks its invariants. */
static inline void imported_open(struct imported *i, struct strobe_sampled *sampled)
{
    struct strobe_error error = {""};
    char path[64];
    assert_int_equal(strobe_sampled_make(sampled, &i->fd), STROBE_OK);
    snprintf(path, sizeof path, "/proc/self/fd/%d", i->fd);
    if (strobe_reader_open(path, &i->reader, &error) != STROBE_OK || !strobe_reader_check(i->reader, &error))
        fail_msg("%s", error.text);
    assert_int_equal(strobe_symbols_open(&i->reader->session, 0, &i->symbols), STROBE_OK);
}

static inline void imported_close(struct imported *i)
{
    strobe_symbols_close(i->symbols);
    strobe_reader_close(i->reader);
    close(i->fd);
}

/* Returns the functions of a stack as "a;b;c", outermost first; "" for id 0. Valid until the next call. */
static inline const char *imported_stack(struct imported *i, uint32_t id)
{
    static char text[1 << 15];
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint32_t count;
    size_t n = 0;
    text[0] = 0;
    assert_int_equal(strobe_stack_frames(&i->reader->session.stacks, id, frames, STROBE_STACK_DEPTH_MAX, &count),
                     STROBE_OK);
    for (uint32_t k = 0; k < count; k++) {
        struct strobe_symbol symbol;
        assert_int_equal(strobe_symbols_resolve(i->symbols, frames[k], &symbol, 1), 1);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", k ? ";" : "", symbol.function);
        assert_true(n < sizeof text);
    }
    return text;
}

/* Returns the session's thread with this tid, the first of several; NULL: there is none. */
static inline const struct strobe_reader_thread *imported_thread(const struct imported *i, uint32_t tid)
{
    for (uint32_t k = 0; k < i->reader->thread_count; k++)
        if (i->reader->threads[k].tid == tid)
            return &i->reader->threads[k];
    return NULL;
}

/* Returns the stacks of the session as `strobe convert` folds them, one "thread;a;b us" a line. The caller frees
 * it. */
static inline char *imported_folded(const struct imported *i)
{
    struct strobe_convert_options options = {.format = STROBE_FORMAT_FOLDED, .replace = 1};
    struct strobe_error error = {""};
    char in[64], out[TEMPORARY_BYTES], *text = calloc(1, 1 << 16);
    int fd = mkstemp(temporary_path(out, "strobe-folded-XXXXXX"));
    assert_true(fd >= 0 && text);
    snprintf(in, sizeof in, "/proc/self/fd/%d", i->fd);
    if (strobe_convert(in, out, &options, NULL, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    FILE *file = fopen(out, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, (1 << 16) - 1, file) < (1 << 16) - 1);
    fclose(file);
    close(fd);
    unlink(out);
    return text;
}

#endif
