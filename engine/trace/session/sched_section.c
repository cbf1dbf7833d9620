#include "engine/trace/session/sched_section.h"

#include "engine/store/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPIED_AT_ONCE = 1024 }; /* events */

/* ---- reading */

/* Returns the number of events before the first invalid one. */
static size_t count_valid_events(const struct strobe_sched_event *events, size_t count)
{
    uint64_t last_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const struct strobe_sched_event *e = &events[i];
        if (e->time_ns < last_ns || e->time_ns > INT64_MAX || !e->tid || e->tid > INT32_MAX || e->other > INT32_MAX ||
            e->cpu >= STROBE_SCHED_CPUS_MAX || e->what >= STROBE_SCHED_WHAT_COUNT || e->state > STROBE_SCHED_UNKNOWN)
            return i;
        last_ns = e->time_ns;
    }
    return count;
}

/* Returns the number of names: all of them, or none when one is invalid. */
static size_t count_valid_names(const struct strobe_sched_name *names, uint64_t count)
{
    uint32_t last_tid = 0;
    for (uint64_t i = 0; i < count; i++) {
        const struct strobe_sched_name *n = &names[i];
        if (n->tid <= last_tid || n->tid > INT32_MAX || !n->name[0] || n->name[sizeof n->name - 1])
            return 0;
        last_tid = n->tid;
    }
    return (size_t)count;
}

static enum strobe_status map_section(int fd, uint64_t offset, struct strobe_sched_section *out)
{
    struct stat st;
    struct strobe_sched_head *h = &out->head;
    if (fstat(fd, &st) != 0)
        return STROBE_IO;
    ssize_t got = pread(fd, h, sizeof *h, (off_t)offset);
    if (got < 0)
        return STROBE_IO;
    if (got != (ssize_t)sizeof *h || memcmp(h->magic, STROBE_SCHED_MAGIC, sizeof STROBE_SCHED_MAGIC) ||
        h->event_bytes != sizeof(struct strobe_sched_event)) {
        *h = (struct strobe_sched_head){.count = 0};
        return STROBE_OK;
    }
    uint64_t left = (uint64_t)st.st_size - offset - sizeof *h, present = left / sizeof(struct strobe_sched_event);
    size_t count = (size_t)(h->count < present ? h->count : present);
    if (!count) {
        out->damaged = h->count;
        return STROBE_OK;
    }
    left -= count * sizeof(struct strobe_sched_event);
    uint64_t names = count < h->count || h->names > left / sizeof(struct strobe_sched_name) ? 0 : h->names;
    out->mapped_bytes =
        sizeof *h + count * sizeof(struct strobe_sched_event) + (size_t)names * sizeof(struct strobe_sched_name);
    void *memory = mmap(NULL, out->mapped_bytes, PROT_READ, MAP_PRIVATE, fd, (off_t)offset);
    if (memory == MAP_FAILED)
        return STROBE_IO;
    out->mapped = memory;
    out->events = (const struct strobe_sched_event *)(const void *)((const char *)memory + sizeof *h);
    out->count = count_valid_events(out->events, count);
    out->damaged = h->count - out->count;
    out->names = (const struct strobe_sched_name *)(const void *)(out->events + count);
    out->name_count = out->damaged ? 0 : count_valid_names(out->names, names);
    return STROBE_OK;
}

enum strobe_status strobe_sched_section_open(const char *path, uint64_t file_bytes, struct strobe_sched_section *out)
{
    *out = (struct strobe_sched_section){.count = 0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return STROBE_IO;
    enum strobe_status status = map_section(fd, file_bytes, out);
    int error = errno;
    close(fd);
    errno = error;
    return status;
}

void strobe_sched_section_close(struct strobe_sched_section *s)
{
    if (s->mapped)
        munmap(s->mapped, s->mapped_bytes);
    *s = (struct strobe_sched_section){.count = 0};
}

void strobe_sched_section_write(const struct strobe_sched_section *s, struct strobe_outfile *out)
{
    struct strobe_sched_head head = s->head;
    if (!head.event_bytes)
        return;
    head.count = s->count;
    head.names = s->name_count;
    strobe_outfile_write(out, &head, sizeof head);
    strobe_outfile_write(out, s->events, s->count * sizeof *s->events);
    strobe_outfile_write(out, s->names, s->name_count * sizeof *s->names);
}

static int by_named_tid(const void *tid, const void *name)
{
    uint32_t a = *(const uint32_t *)tid, b = ((const struct strobe_sched_name *)name)->tid;
    return a < b ? -1 : a > b;
}

static const struct strobe_sched_name *find_sched_name(const struct strobe_sched_name *names, size_t count,
                                                       uint32_t tid)
{
    return count ? bsearch(&tid, names, count, sizeof *names, by_named_tid) : NULL;
}

const char *strobe_sched_section_name(const struct strobe_sched_section *s, uint32_t tid)
{
    const struct strobe_sched_name *found = find_sched_name(s->names, s->name_count, tid);
    return found ? found->name : NULL;
}

void strobe_sched_section_add_states(const struct strobe_sched_section *s, uint64_t end_ns,
                                     struct strobe_sched_states *states)
{
    if (s->count && !s->head.refused && !s->damaged)
        strobe_sched_states_extend(states, end_ns);
    for (size_t i = 0; i < s->count; i++) {
        const struct strobe_sched_event *e = &s->events[i];
        switch (e->what) {
        case STROBE_SCHED_IN: strobe_sched_states_switch(states, e->time_ns, 0, STROBE_SCHED_UNKNOWN, e->tid); break;
        case STROBE_SCHED_WAKE: strobe_sched_states_wake(states, e->time_ns, e->tid); break;
        default:
            strobe_sched_states_switch(
                states, e->time_ns, e->tid,
                e->what == STROBE_SCHED_OUT ? (enum strobe_sched_state)e->state : STROBE_SCHED_UNKNOWN, 0);
        }
    }
}

/* ---- appending */

static bool transfer(int fd, void *data, size_t bytes, uint64_t offset, bool write)
{
    for (char *p = data; bytes;) {
        ssize_t n = write ? pwrite(fd, p, bytes, (off_t)offset) : pread(fd, p, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        bytes -= (size_t)n;
        offset += (uint64_t)n;
    }
    return true;
}

/* A section while its events are copied. */
struct section_copy {
    const struct strobe_sched_part *part;
    int to;
    uint64_t offset, kept; /* of the first event in the file; events in the file */
    size_t late;           /* late events that are copied */
    bool *named;           /* by the part's names: of the waker of an event in the file */
    size_t block_count;
    struct strobe_sched_event block[COPIED_AT_ONCE]; /* events that are not written yet */
};

static bool write_copied(struct section_copy *c)
{
    uint64_t offset = c->offset + c->kept * sizeof *c->block;
    if (!transfer(c->to, c->block, c->block_count * sizeof *c->block, offset, true))
        return false;
    c->kept += c->block_count;
    c->block_count = 0;
    return true;
}

static bool copy_event(struct section_copy *c, const struct strobe_sched_event *e)
{
    if (e->time_ns < c->part->from_ns || e->time_ns >= c->part->to_ns)
        return true;
    const struct strobe_sched_name *waker =
        e->other ? find_sched_name(c->part->names, c->part->name_count, e->other) : NULL;
    if (waker)
        c->named[waker - c->part->names] = true;
    c->block[c->block_count++] = *e;
    return c->block_count < COPIED_AT_ONCE || write_copied(c);
}

static bool copy_late_before(struct section_copy *c, uint64_t before_ns)
{
    for (; c->late < c->part->late_count && c->part->late[c->late].event.time_ns < before_ns; c->late++)
        if (!copy_event(c, &c->part->late[c->late].event))
            return false;
    return true;
}

static bool copy_run(struct section_copy *c, const struct strobe_sched_run *run)
{
    struct strobe_sched_event block[COPIED_AT_ONCE];
    for (uint64_t done = 0; done < run->count;) {
        size_t n = run->count - done < COPIED_AT_ONCE ? (size_t)(run->count - done) : COPIED_AT_ONCE;
        if (!transfer(c->part->fd, block, n * sizeof *block, (run->first + done) * sizeof *block, false))
            return false;
        for (size_t i = 0; i < n; i++)
            if (!copy_late_before(c, block[i].time_ns) || !copy_event(c, &block[i]))
                return false;
        done += n;
    }
    return true;
}

/* Writes the names of wakers behind the events. */
static bool copy_waker_names(struct section_copy *c, uint64_t *kept)
{
    uint64_t offset = c->offset + c->kept * sizeof *c->block;
    for (size_t i = 0; i < c->part->name_count; i++) {
        struct strobe_sched_name name = c->part->names[i];
        if (!c->named[i])
            continue;
        if (!transfer(c->to, &name, sizeof name, offset + *kept * sizeof name, true))
            return false;
        ++*kept;
    }
    return true;
}

/* Copies the part, and counts what it has in *head. */
static bool copy_part(int to, uint64_t offset, const struct strobe_sched_part *part, struct strobe_sched_head *head)
{
    struct section_copy c = {
        .part = part, .to = to, .offset = offset, .named = calloc(part->name_count + 1, sizeof *c.named)};
    bool written = c.named != NULL;
    for (size_t i = 0; i < part->run_count && written; i++)
        written = copy_run(&c, &part->runs[i]);
    head->names = 0;
    written = written && copy_late_before(&c, UINT64_MAX) && write_copied(&c) && copy_waker_names(&c, &head->names);
    head->count = c.kept;
    int error = errno;
    free(c.named);
    errno = error;
    return written;
}

/* Writes the head after the events, and the magic with it. */
static bool append_to_file(int fd, uint64_t file_bytes, const struct strobe_sched_head *head,
                           const struct strobe_sched_part *part)
{
    struct strobe_sched_head h = *head;
    memcpy(h.magic, STROBE_SCHED_MAGIC, sizeof h.magic);
    h.event_bytes = sizeof(struct strobe_sched_event);
    if (ftruncate(fd, (off_t)file_bytes) == 0 && copy_part(fd, file_bytes + sizeof h, part, &h) &&
        transfer(fd, &h, sizeof h, file_bytes, true))
        return true;
    int error = errno;
    (void)!ftruncate(fd, (off_t)file_bytes);
    errno = error;
    return false;
}

enum strobe_status strobe_sched_section_append(const char *path, const struct strobe_sched_head *head,
                                               const struct strobe_sched_part *part)
{
    struct strobe_session s;
    enum strobe_status status = strobe_session_open(path, &s);
    if (status != STROBE_OK)
        return status;
    uint64_t file_bytes = s.header->file_bytes;
    strobe_session_unmap(&s);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return STROBE_IO;
    bool written = append_to_file(fd, file_bytes, head, part);
    int error = errno;
    close(fd);
    errno = error;
    return written ? STROBE_OK : STROBE_IO;
}
