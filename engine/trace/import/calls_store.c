#include "engine/trace/import/calls_store.h"

#include "engine/store/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Returns the address of the function of a name, which is in no image. Lookups use return addresses, which are one byte
 * behind it (calls_session.c). */
static uint64_t address_of(size_t name)
{
    return ((uint64_t)name + 1) << 4;
}

static uint64_t blocks_of(const struct strobe_calls *c)
{
    uint64_t blocks = 1;
    for (size_t i = 0; i < c->thread_count; i++)
        blocks += c->threads[i].call_count / STROBE_CALL_ENTRIES + 1;
    return blocks;
}

static uint64_t names_bytes(const struct strobe_calls *c)
{
    uint64_t bytes = STROBE_NAMES_BYTES_MIN;
    for (size_t i = 0; i < c->names.count; i++)
        bytes += 16 + ((strlen(c->names.texts[i]) + 7) & ~(uint64_t)7);
    return bytes;
}

/* Sets the sizes of a session for exactly these calls. Returns false if no session is large enough. */
static bool configure(const struct strobe_calls *c, struct strobe_config *config)
{
    const uint64_t unit = STROBE_CALL_UNIT_BYTES, page = 4096;
    uint64_t units = (blocks_of(c) * sizeof(struct strobe_call_block) + unit - 1) / unit;
    uint64_t names = (names_bytes(c) + page - 1) / page * page;
    strobe_config_default(config);
    config->ring_slots = config->ring_subs = config->stack_nodes = config->images_max = 1;
    config->async_interval_ns = 0;
    config->metrics = 0;
    config->threads_max = c->thread_count ? (uint32_t)c->thread_count : 1;
    config->names_bytes = (uint32_t)names;
    config->calls = STROBE_CALLS_KEEP_OLDEST | STROBE_CALLS_ONLY;
    config->call_units = (uint16_t)units;
    return units <= UINT16_MAX && names <= STROBE_NAMES_BYTES_MAX && c->thread_count <= STROBE_THREADS_MAX_DEFAULT;
}

static enum strobe_status store_thread(const struct strobe_calls *c, size_t i, const struct strobe_session *s)
{
    const struct strobe_calls_thread *t = &c->threads[i];
    struct strobe_call_writer w = {0};
    uint32_t index;
    enum strobe_status status = strobe_session_add_thread(s, t->tid, t->is_main, c->begin_ns, &index);
    if (status != STROBE_OK)
        return status;
    snprintf(s->threads[index].name, sizeof s->threads[index].name, "%.31s", t->name);
    for (size_t k = 0; k < t->call_count; k++) {
        const struct strobe_call *e = &t->calls[k];
        if (w.next == w.end && !strobe_call_refill(&s->calls, &w, index))
            return STROBE_FULL;
        strobe_call_put(&w, e->time_ns, address_of(e->name) | (e->what == STROBE_CALL_END ? STROBE_CALL_EXIT : 0));
    }
    strobe_call_finish(&s->calls, &w, index);
    return STROBE_OK;
}

static enum strobe_status store_all(const struct strobe_calls *c, struct strobe_session *s)
{
    uint8_t *used = strobe_calls_used(c);
    enum strobe_status status = used ? STROBE_OK : STROBE_IO;
    snprintf(s->header->exe, sizeof s->header->exe, "%s", c->process);
    for (size_t i = 0; i < c->names.count && status == STROBE_OK; i++)
        if (used[i])
            status = strobe_names_add(&s->names, address_of(i) + 1, c->names.texts[i], strlen(c->names.texts[i]), 0);
    free(used);
    for (size_t i = 0; i < c->thread_count && status == STROBE_OK; i++)
        status = store_thread(c, i, s);
    struct strobe_clock_pair end = {c->end_ns, c->end_ns, c->end_ns, 0};
    if (status == STROBE_OK)
        status = strobe_session_begin(s, c->pid);
    s->header->begin = (struct strobe_clock_pair){c->begin_ns, c->begin_ns, c->begin_ns, 0};
    if (status == STROBE_OK)
        strobe_session_finish(s, &end);
    return status;
}

enum strobe_status strobe_calls_store(const struct strobe_calls *calls, struct strobe_outfile *out)
{
    struct strobe_config config;
    struct strobe_session session;
    if (!configure(calls, &config))
        return STROBE_FULL;
    size_t bytes = (size_t)strobe_session_file_bytes(&config);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return STROBE_IO;
    enum strobe_status status = strobe_session_create_at(memory, &config, calls->process, &session);
    if (status == STROBE_OK)
        status = store_all(calls, &session);
    if (status == STROBE_OK)
        strobe_outfile_write(out, memory, bytes);
    munmap(memory, bytes);
    return status;
}
