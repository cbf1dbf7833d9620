#include "engine/trace/symbols/jit_names.h"

#include "engine/store/session.h"
#include "engine/trace/session/sched_section.h"
#include "engine/trace/symbols/jit_files.h"
#include "engine/util/array.h"
#include "engine/util/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

/* Addresses that need a name, and the files that may have names for them. */
struct job {
    struct strobe_session session;
    struct strobe_sched_section sched; /* of the session that is copied */
    uint64_t *wanted;                  /* sorted, without duplicates; one byte before the return addresses */
    size_t wanted_count;
    uint8_t *named; /* by index in `wanted` */
    struct strobe_jit_files files;
    struct strobe_jit_names *result;
    const char *path, *output; /* output NULL: change the file `path` itself */
    int replace;
};

/* A name to write. */
struct choice {
    const struct strobe_code *code;
    uint64_t begin_ticks;
};

struct choices {
    struct choice *at;
    size_t count, room;
};

static int by_wanted_address(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* ---- addresses that need a name ---- */

struct span {
    uint64_t start, end;
};

static int by_span_start(const void *a, const void *b)
{
    return by_wanted_address(&((const struct span *)a)->start, &((const struct span *)b)->start);
}

/* Lists the images of a session as sorted ranges that do not overlap. Returns their count, or SIZE_MAX: out of
 * memory. */
static size_t list_image_spans(const struct strobe_session *s, struct span **out)
{
    uint32_t images = strobe_session_image_count(s);
    size_t count = 0, kept = 0;
    struct span *spans = malloc((images + 1) * sizeof *spans);
    *out = spans;
    if (!spans)
        return SIZE_MAX;
    for (uint32_t i = 0; i < images; i++)
        if (strobe_load_acquire(&s->images[i].published) == 1 && s->images[i].start < s->images[i].end)
            spans[count++] = (struct span){s->images[i].start, s->images[i].end};
    qsort(spans, count, sizeof *spans, by_span_start);
    for (size_t i = 0; i < count; i++) {
        if (kept && spans[i].start <= spans[kept - 1].end)
            spans[kept - 1].end = spans[i].end > spans[kept - 1].end ? spans[i].end : spans[kept - 1].end;
        else
            spans[kept++] = spans[i];
    }
    return kept;
}

/* Removes duplicates, and addresses within one of the spans, from the sorted list. Returns the new length. */
static size_t keep_addresses_outside(uint64_t *list, size_t count, const struct span *spans, size_t span_count)
{
    size_t kept = 0, span = 0;
    for (size_t i = 0; i < count; i++) {
        while (span < span_count && spans[span].end <= list[i])
            span++;
        int inside = span < span_count && spans[span].start <= list[i];
        if (!inside && (!kept || list[kept - 1] != list[i]))
            list[kept++] = list[i];
    }
    return kept;
}

static enum strobe_status list_wanted(struct job *j)
{
    uint32_t nodes = strobe_stack_node_count(&j->session.stacks);
    struct span *spans;
    size_t span_count = list_image_spans(&j->session, &spans), count = 0;
    j->wanted = malloc(((size_t)nodes + 1) * sizeof *j->wanted);
    if (span_count == SIZE_MAX || !j->wanted) {
        free(spans);
        return STROBE_IO;
    }
    for (uint32_t i = 1; i <= nodes; i++) {
        const struct strobe_stack_node *node = strobe_stack_node_of(&j->session.stacks, i);
        if (node && node->address)
            j->wanted[count++] = node->address - 1;
    }
    qsort(j->wanted, count, sizeof *j->wanted, by_wanted_address);
    j->wanted_count = keep_addresses_outside(j->wanted, count, spans, span_count);
    j->result->addresses = j->wanted_count;
    free(spans);
    j->named = calloc(j->wanted_count + 1, 1);
    return j->named ? STROBE_OK : STROBE_IO;
}

/* Returns the index of the first wanted address at or after `address`. */
static size_t first_wanted_from(const struct job *j, uint64_t address)
{
    size_t low = 0, high = j->wanted_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (j->wanted[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- names for them ---- */

static enum strobe_status add_choice(struct choices *c, const struct strobe_code *code, uint64_t begin_ticks)
{
    if (!strobe_array_reserve(&c->at, &c->room, c->count + 1))
        return STROBE_IO;
    c->at[c->count++] = (struct choice){code, begin_ticks};
    return STROBE_OK;
}

/* Converts a time of CLOCK_MONOTONIC to the session's ticks, with the session's average rate. */
static uint64_t ticks_of_monotonic(const struct strobe_session_header *h, uint64_t ns)
{
    double ticks_per_ns = (double)h->ticks_per_second / 1e9;
    if (h->end.ticks > h->begin.ticks && h->end.monotonic_ns > h->begin.monotonic_ns)
        ticks_per_ns = (double)(h->end.ticks - h->begin.ticks) / (double)(h->end.monotonic_ns - h->begin.monotonic_ns);
    if (ns <= h->begin.monotonic_ns)
        return h->begin.ticks;
    double ticks = (double)(ns - h->begin.monotonic_ns) * ticks_per_ns;
    return ticks < 0x1p62 ? h->begin.ticks + (uint64_t)ticks : UINT64_MAX / 2;
}

/* Returns the session's ticks of a name. Times of the processor's counter are usable if the session counts by it;
 * otherwise only the order of names is known, and the result is 0. */
static uint64_t ticks_of_code(const struct job *j, const struct strobe_jit_file *f, const struct strobe_code *code)
{
    if (!f->counts_ticks)
        return ticks_of_monotonic(j->session.header, code->begin);
    return j->session.header->ticks_per_second != 1000000000 ? code->begin : 0;
}

/* Chooses all names of a wanted address from a jitdump file, because each has its own time. */
static enum strobe_status choose_from_jitdump(struct job *j, const struct strobe_jit_file *f, struct choices *out)
{
    for (size_t i = 0; i < f->codes.count; i++) {
        const struct strobe_code *code = &f->codes.at[i];
        size_t first = first_wanted_from(j, code->start);
        if (first == j->wanted_count || j->wanted[first] >= code->start + code->bytes)
            continue;
        if (add_choice(out, code, ticks_of_code(j, f, code)) != STROBE_OK)
            return STROBE_IO;
        for (size_t k = first; k < j->wanted_count && j->wanted[k] < code->start + code->bytes; k++)
            j->named[k] = 1;
    }
    return STROBE_OK;
}

/* Returns the next index at or after `k` without a name. skip[k] leads past indices with a name. */
static size_t next_unnamed(size_t *skip, size_t k)
{
    size_t end = k;
    while (skip[end] != end)
        end = skip[end];
    while (skip[k] != end) {
        size_t next = skip[k];
        skip[k] = end;
        k = next;
    }
    return end;
}

/* Chooses, for each wanted address, the last line of a perf map that contains it. Lines are therefore read from the
 * last to the first. */
static enum strobe_status choose_from_perf_map(struct job *j, const struct strobe_jit_file *f, struct choices *out)
{
    size_t *skip = malloc((j->wanted_count + 1) * sizeof *skip), first_choice = out->count;
    enum strobe_status status = skip ? STROBE_OK : STROBE_IO;
    for (size_t k = 0; skip && k <= j->wanted_count; k++)
        skip[k] = k < j->wanted_count && j->named[k] ? k + 1 : k;
    for (size_t i = f->codes.count; i-- > 0 && status == STROBE_OK;) {
        const struct strobe_code *code = &f->codes.at[i];
        uint64_t end = code->start + code->bytes;
        size_t k = next_unnamed(skip, first_wanted_from(j, code->start));
        if (k == j->wanted_count || j->wanted[k] >= end)
            continue;
        status = add_choice(out, code, 0);
        for (; k < j->wanted_count && j->wanted[k] < end; k = next_unnamed(skip, k)) {
            j->named[k] = 1;
            skip[k] = k + 1;
        }
    }
    for (size_t a = first_choice, b = out->count; a + 1 < b; a++, b--) { /* restore the order of the file */
        struct choice swapped = out->at[a];
        out->at[a] = out->at[b - 1];
        out->at[b - 1] = swapped;
    }
    free(skip);
    return status;
}

/* Jitdump files come first, because their names have times. Perf maps name the remaining addresses. */
static enum strobe_status choose_names(struct job *j, struct choices *out)
{
    enum strobe_status status = STROBE_OK;
    for (int jitdumps = 1; jitdumps >= 0; jitdumps--)
        for (size_t i = 0; i < j->files.count && status == STROBE_OK; i++)
            if (j->files.list[i]->is_jitdump == jitdumps)
                status = jitdumps ? choose_from_jitdump(j, j->files.list[i], out)
                                  : choose_from_perf_map(j, j->files.list[i], out);
    for (size_t k = 0; k < j->wanted_count; k++)
        j->result->named += j->named[k];
    return status;
}

/* ---- the session's region of names ---- */

static uint64_t region_bytes(const struct strobe_names *old, const struct choices *c)
{
    struct strobe_named_address name;
    uint64_t bytes = sizeof(struct strobe_names_head);
    for (uint64_t at = 0; strobe_names_next(old, &at, &name);)
        bytes += name.flags & STROBE_NAME_CODE ? 0 : strobe_names_entry_bytes(name.bytes, false);
    for (size_t i = 0; i < c->count; i++)
        bytes += strobe_names_entry_bytes(c->at[i].code->name_bytes, true);
    bytes = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    return bytes > old->bytes ? bytes : old->bytes;
}

static enum strobe_status fill_region(const struct strobe_names *old, const struct choices *c,
                                      const struct strobe_names *fresh)
{
    struct strobe_named_address name;
    enum strobe_status status = STROBE_OK;
    for (uint64_t at = 0; status == STROBE_OK && strobe_names_next(old, &at, &name);)
        if (!(name.flags & STROBE_NAME_CODE))
            status = strobe_names_add(fresh, name.address, name.text, name.bytes, name.flags);
    for (size_t i = 0; i < c->count && status == STROBE_OK; i++) {
        const struct strobe_code *code = c->at[i].code;
        status = strobe_names_add_code(fresh, &(struct strobe_named_address){code->start, code->name, code->name_bytes,
                                                                             0, code->bytes, c->at[i].begin_ticks});
    }
    if (old->head)
        strobe_store_relaxed(&fresh->head->refused, strobe_load_relaxed(&old->head->refused));
    return status;
}

static int write_at(int fd, const void *from, size_t bytes, uint64_t offset)
{
    for (const char *p = from; bytes;) {
        ssize_t n = pwrite(fd, p, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        p += n;
        bytes -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 1;
}

/* Changes the header for a region of names of this size, which is the last region of the file. Returns its offset. */
static uint64_t change_header(struct strobe_session_header *h, uint64_t bytes)
{
    h->config.names_bytes = 0;
    uint64_t offset = strobe_session_file_bytes(&h->config);
    h->config.names_bytes = (uint32_t)bytes;
    h->file_bytes = strobe_session_file_bytes(&h->config);
    return offset;
}

/* Writes the region first, and then, in one write, the fields of the header that describe it. A session without names
 * therefore stays valid if the program is interrupted. */
static enum strobe_status write_in_place(const struct job *j, const void *region, uint64_t bytes)
{
    enum {
        FROM = offsetof(struct strobe_session_header, file_bytes),
        TO = offsetof(struct strobe_session_header, config) + sizeof(struct strobe_config)
    };
    struct strobe_session_header h = *j->session.header;
    uint64_t offset = change_header(&h, bytes);
    int fd = open(j->path, O_WRONLY | O_CLOEXEC);
    int written = fd >= 0 && ftruncate(fd, (off_t)h.file_bytes) == 0 && write_at(fd, region, bytes, offset) &&
                  write_at(fd, (const char *)&h + FROM, TO - FROM, FROM);
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return written ? STROBE_OK : STROBE_IO;
}

static enum strobe_status write_copy(const struct job *j, const void *region, uint64_t bytes)
{
    static const char zeros[PAGE_BYTES];
    union {
        struct strobe_session_header header;
        char bytes[PAGE_BYTES];
    } page;
    const char *from = (const char *)j->session.header;
    struct strobe_outfile f;
    memcpy(page.bytes, from, PAGE_BYTES);
    uint64_t offset = change_header(&page.header, bytes);
    enum strobe_status status = strobe_outfile_open(&f, j->output, j->replace);
    if (status != STROBE_OK)
        return status;
    strobe_outfile_write(&f, page.bytes, PAGE_BYTES);
    strobe_outfile_write(&f, from + PAGE_BYTES, offset - PAGE_BYTES);
    strobe_outfile_write(&f, region, bytes);
    strobe_outfile_write(&f, zeros, page.header.file_bytes - offset - bytes);
    strobe_sched_section_write(&j->sched, &f);
    status = strobe_outfile_finish(&f, 0);
    if (status == STROBE_OK)
        strobe_session_trim_closed(j->output); /* blocks of zeros take no space */
    return status;
}

static enum strobe_status write_names(struct job *j, const struct choices *c)
{
    const struct strobe_names *old = &j->session.names;
    uint64_t bytes = region_bytes(old, c);
    if (bytes > STROBE_NAMES_BYTES_MAX)
        return STROBE_FULL;
    struct strobe_names fresh = {calloc(1, bytes), bytes};
    if (!fresh.head)
        return STROBE_IO;
    enum strobe_status status = fill_region(old, c, &fresh);
    if (status == STROBE_OK)
        status = j->output ? write_copy(j, fresh.head, bytes) : write_in_place(j, fresh.head, bytes);
    free(fresh.head);
    j->result->names = status == STROBE_OK ? c->count : 0;
    return status;
}

/* ---- entry points ---- */

static enum strobe_status name_code(struct job *j)
{
    struct choices chosen = {0};
    enum strobe_status status = choose_names(j, &chosen);
    if (status == STROBE_OK)
        status = chosen.count ? write_names(j, &chosen) : STROBE_NO_ENTRY;
    free(chosen.at);
    return status;
}

static enum strobe_status begin_job(struct job *j)
{
    *j->result = (struct strobe_jit_names){0};
    enum strobe_status status = strobe_session_open(j->path, &j->session);
    if (status == STROBE_OK)
        status = strobe_sched_section_open(j->path, j->session.header->file_bytes, &j->sched);
    return status == STROBE_OK ? list_wanted(j) : status;
}

static void end_job(struct job *j)
{
    int error = errno;
    strobe_jit_files_close(&j->files);
    free(j->wanted);
    free(j->named);
    strobe_session_unmap(&j->session);
    strobe_sched_section_close(&j->sched);
    errno = error;
}

enum strobe_status strobe_jit_names_keep(const char *session, const char *folder, struct strobe_jit_names *out)
{
    struct job j = {.session.fd = -1, .result = out, .path = session};
    enum strobe_status status = begin_job(&j);
    if (status == STROBE_OK && !j.wanted_count)
        status = STROBE_NO_ENTRY;
    if (status == STROBE_OK)
        status = strobe_jit_files_find(&j.session, folder, &j.files, out);
    if (status == STROBE_OK)
        status = name_code(&j);
    end_job(&j);
    return status;
}

enum strobe_status strobe_jit_names_add(const char *session, const char *output, int replace, const char *const *paths,
                                        size_t count, struct strobe_jit_names *out)
{
    struct job j = {.session.fd = -1, .result = out, .path = session, .output = output, .replace = replace};
    enum strobe_status status = begin_job(&j);
    for (size_t i = 0; i < count && status == STROBE_OK; i++)
        status = strobe_jit_files_read(paths[i], &j.files, out);
    if (status == STROBE_OK)
        status = name_code(&j);
    end_job(&j);
    return status;
}
