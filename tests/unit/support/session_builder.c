#include "tests/unit/support/session_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(enum strobe_status status, const char *what)
{
    if (status != STROBE_OK) {
        fprintf(stderr, "session builder: %s: %s\n", what, strobe_status_text(status));
        abort();
    }
}

struct strobe_config strobe_build_config(void)
{
    struct strobe_config config;
    strobe_config_default(&config);
    config.async_interval_ns = 0;
    config.ring_slots = 1 << 12;
    config.ring_subs = 1;
    config.stack_nodes = 1 << 12;
    config.threads_max = 64;
    config.images_max = 16;
    return config;
}

void strobe_build_begin(struct strobe_build *b, const char *path, const struct strobe_config *config)
{
    memset(b, 0, sizeof *b);
    snprintf(b->path, sizeof b->path, "%s", path);
    must(strobe_session_create(path, config, "built by a test", 1, &b->session), "create");
    struct strobe_session_header *h = b->session.header;
    h->begin = (struct strobe_clock_pair){STROBE_BUILD_BEGIN_NS, STROBE_BUILD_BEGIN_NS, STROBE_BUILD_BEGIN_NS,
                                          1700000000000000000u};
    h->pid = 4242;
    snprintf(h->exe, sizeof h->exe, "/usr/bin/built");
    strobe_store_release(&h->state, STROBE_SESSION_RUNNING);
    b->writers = calloc(config->threads_max, sizeof *b->writers);
    if (!b->writers)
        abort();
}

uint32_t strobe_build_thread(struct strobe_build *b, uint32_t tid, const char *name)
{
    uint32_t index;
    int is_main = strobe_session_thread_count(&b->session) == 0;
    must(strobe_session_add_thread(&b->session, tid, is_main, STROBE_BUILD_BEGIN_NS, &index), "thread");
    snprintf(b->session.threads[index].name, sizeof b->session.threads[index].name, "%s", name);
    strobe_ring_writer_init(&b->session.ring, &b->writers[index], tid);
    return index;
}

uint32_t strobe_build_stack(struct strobe_build *b, const uint64_t *address, uint32_t count)
{
    uint32_t id;
    must(strobe_stack_intern(&b->session.stacks, &b->cursor, address, count, &id), "stack");
    return id;
}

void strobe_build_image(struct strobe_build *b, const char *path, uint64_t start, uint64_t end)
{
    struct strobe_image_entry *image = strobe_session_add_image(&b->session);
    must(image ? STROBE_OK : STROBE_FULL, "image");
    snprintf(image->path, sizeof image->path, "%s", path);
    image->start = image->bias = start;
    image->end = end;
    strobe_store_release(&image->published, 1);
}

enum strobe_status strobe_build_record(struct strobe_build *b, struct strobe_record record,
                                       const struct strobe_metrics *metrics)
{
    if (!record.kind)
        record.kind = STROBE_KIND_ALLOC;
    if (!record.count)
        record.count = 1;
    record.ticks += STROBE_BUILD_BEGIN_NS;
    struct strobe_thread_entry *thread = &b->session.threads[record.thread];
    struct strobe_account *account = &thread->account[record.kind];
    struct strobe_ring_writer *writer = &b->writers[record.thread];
    enum strobe_status status = strobe_ring_write(&b->session.ring, writer, &record, metrics);
    strobe_bump(&account->requests, record.count);
    strobe_bump(status == STROBE_OK ? &account->sampled : &account->dropped, record.count);
    strobe_store_relaxed(&thread->overwrote_samples, writer->overwrote);
    return status;
}

static void done(struct strobe_build *b)
{
    strobe_session_unmap(&b->session);
    free(b->writers);
    b->writers = NULL;
}

void strobe_build_end(struct strobe_build *b, uint64_t ticks)
{
    uint64_t ns = STROBE_BUILD_BEGIN_NS + ticks;
    struct strobe_clock_pair end = {ns, ns, ns, 1700000000000000000u + ticks};
    strobe_session_finish(&b->session, &end);
    done(b);
}

void strobe_build_kill(struct strobe_build *b)
{
    done(b);
}
