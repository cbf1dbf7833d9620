#include "engine/trace/symbols/symbolize.h"
#include "engine/base/error_format.h"

#include "engine/store/session.h"
#include "engine/trace/session/reader.h"
#include "engine/util/outfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096 };

/* The new region of names, in memory. */
struct region {
    char *at;
    uint64_t bytes;
};

static enum strobe_status fill(const struct strobe_session *s, const struct strobe_mapping *mapping,
                               const struct region *r, struct strobe_symbolized *out)
{
    struct strobe_names fresh = {(struct strobe_names_head *)(void *)r->at, r->bytes};
    struct strobe_named_address name;
    *out = (struct strobe_symbolized){0};
    for (uint64_t at = 0; strobe_names_next(&s->names, &at, &name);) {
        if (name.flags & STROBE_NAME_CODE) {
            if (strobe_names_add_code(&fresh, &name) != STROBE_OK)
                return STROBE_FULL;
            continue;
        }
        char *before = strndup(name.text, name.bytes), *after = NULL;
        if (before)
            after = name.flags & STROBE_NAME_STALE ? strdup(before) : strobe_mapping_method(mapping, before);
        enum strobe_status status =
            after ? strobe_names_add(&fresh, name.address, after, strlen(after), name.flags) : STROBE_IO;
        out->names++;
        out->changed += after && strcmp(before, after) != 0;
        free(before);
        free(after);
        if (status != STROBE_OK)
            return status;
    }
    return STROBE_OK;
}

/* Makes the new region. Its size is not known in advance, so it is doubled until the names fit. */
static enum strobe_status make_region(const struct strobe_session *s, const struct strobe_mapping *mapping,
                                      struct region *r, struct strobe_symbolized *out)
{
    enum strobe_status status = STROBE_FULL;
    for (r->bytes = s->names.bytes; status == STROBE_FULL; r->bytes *= 2) {
        if (r->bytes > STROBE_NAMES_BYTES_MAX)
            return STROBE_FULL;
        free(r->at);
        r->at = calloc(1, r->bytes);
        if (!r->at)
            return STROBE_IO;
        status = fill(s, mapping, r, out);
        if (status != STROBE_FULL)
            break;
    }
    return status;
}

/* Writes the session. The regions before the names are unchanged. */
static void write_session(struct strobe_outfile *f, const struct strobe_reader *reader, const struct region *r)
{
    const struct strobe_session *s = &reader->session;
    union {
        struct strobe_session_header header;
        char bytes[PAGE_BYTES];
    } page;
    const char *from = (const char *)s->header;
    uint64_t before = (uint64_t)((const char *)s->names.head - from);
    memcpy(page.bytes, from, PAGE_BYTES);
    page.header.config.names_bytes = (uint32_t)r->bytes;
    page.header.file_bytes = strobe_session_file_bytes(&page.header.config);
    strobe_outfile_write(f, page.bytes, PAGE_BYTES);
    strobe_outfile_write(f, from + PAGE_BYTES, before - PAGE_BYTES);
    strobe_outfile_write(f, r->at, r->bytes);
    static const char zeros[PAGE_BYTES];
    strobe_outfile_write(f, zeros, page.header.file_bytes - before - r->bytes);
    strobe_sched_section_write(&reader->sched, f);
}

static enum strobe_status write_file(const struct strobe_reader *reader, const struct region *r, const char *output,
                                     int replace)
{
    struct strobe_outfile f;
    enum strobe_status status = strobe_outfile_open(&f, output, replace);
    if (status != STROBE_OK)
        return status;
    write_session(&f, reader, r);
    status = strobe_outfile_finish(&f, 0);
    if (status == STROBE_OK)
        strobe_session_trim_closed(output); /* blocks of zeros take no space */
    return status;
}

static enum strobe_status set_symbolize_error(enum strobe_status status, const char *path, const char *what,
                                              struct strobe_error *error)
{
    strobe_error_set(error, "%s: %s", path, what);
    return status;
}

enum strobe_status strobe_symbolize(const char *session, const char *output, const struct strobe_mapping *mapping,
                                    int replace, struct strobe_symbolized *out, struct strobe_error *error)
{
    struct strobe_reader *reader;
    struct region r = {0};
    enum strobe_status status = strobe_reader_open(session, &reader, error);
    if (status != STROBE_OK)
        return status;
    const struct strobe_session *s = &reader->session;
    if (!s->names.head)
        status =
            set_symbolize_error(STROBE_BAD_INPUT, session, "expected a session with names of managed methods", error);
    else if ((status = make_region(s, mapping, &r, out)) == STROBE_FULL)
        set_symbolize_error(status, session, "its names take more room than a session has", error);
    else if (status != STROBE_OK)
        set_symbolize_error(status, session, "out of memory", error);
    else if ((status = write_file(reader, &r, output, replace)) == STROBE_EXISTS)
        set_symbolize_error(status, output, "exists already; --force overwrites it", error);
    else if (status != STROBE_OK)
        set_symbolize_error(status, output, strerror(errno), error);
    free(r.at);
    strobe_reader_close(reader);
    return status;
}
