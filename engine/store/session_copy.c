#include "engine/store/session_copy.h"

#include <string.h>
#include <sys/mman.h>

/* Reserves for what is written between the two calls. A copy is made so often, each time with four times the reserve
 * for records and stacks, when the threads wrote more than fits. */
enum { MORE_THREADS = 16, MORE_IMAGES = 16, MORE_NODES = 1024, MORE_SLOTS = 1024, NAMES_PAGE = 4096, TRIES = 4 };

enum { HUGE_COPY_BYTES = 16 << 20 }; /* a smaller copy could waste a good part of its last huge page */

/* A copy that is being made. While the records are copied, account[kind].requests of the copy counts the samples that
 * are in the copy. */
struct copying {
    const struct strobe_session *from;
    struct strobe_session to;
    struct strobe_ring_writer writer;
    uint64_t since_ticks;
    uint32_t slots_left; /* of the copy's ring */
    uint32_t threads_at_begin;
    bool closed, lacks_room; /* lacks_room: a wanted record did not fit */
};

/* The source's words change while they are copied. */
static void copy_shared_words(void *to, const void *from, size_t bytes)
{
    uint64_t *out = to;
    const strobe_a64 *in = from;
    for (size_t i = 0; i < bytes / sizeof *out; i++)
        out[i] = strobe_load_relaxed(&in[i]);
}

static uint32_t with_reserve(uint32_t count, uint32_t more, unsigned tries, uint32_t most)
{
    uint64_t wanted = (uint64_t)count + (((uint64_t)count / 4 + more) << 2 * tries);
    return wanted < most ? (uint32_t)wanted : most;
}

/* ---- records */

/* Takes up to `excess` from the word. Returns what is left of the excess. */
static uint64_t take_excess(strobe_a64 *word, uint64_t excess)
{
    uint64_t has = strobe_load_relaxed(word), taken = has < excess ? has : excess;
    strobe_store_relaxed(word, has - taken);
    return excess - taken;
}

static bool is_wanted(const struct strobe_record *r, uint64_t since_ticks)
{
    return !since_ticks || r->ticks + r->duration >= since_ticks;
}

/* Finds the next record from slot *slot on, and moves *slot behind it. */
static bool next_record(const struct strobe_ring *ring, uint32_t *slot, struct strobe_ring_item *item)
{
    uint32_t count = strobe_ring_slot_count(ring);
    while (*slot < count) {
        uint32_t at = *slot;
        if (at % STROBE_CHUNK_SLOTS == 0 && strobe_ring_untouched(ring, at)) {
            *slot += STROBE_CHUNK_SLOTS;
            continue;
        }
        ++*slot;
        enum strobe_ring_look look = strobe_ring_look(ring, at, item);
        if (look == STROBE_LOOK_BUSY && strobe_ring_salvage(ring, at, item))
            look = STROBE_LOOK_RECORD;
        if (look == STROBE_LOOK_RECORD)
            return true;
    }
    return false;
}

static uint32_t slots_of(const struct strobe_record *r)
{
    return r->flags & STROBE_FLAG_METRICS ? 2 : 1;
}

/* Returns true when the copy's table has a place for all nodes of the stack. All of them were reserved before the
 * record was written, so the chain must be followed only when the source has more nodes than the copy. */
static bool stack_fits(const struct copying *c, uint32_t id)
{
    const struct strobe_stack_table *from = &c->from->stacks;
    uint32_t most = c->to.stacks.head->node_capacity;
    if (strobe_stack_node_count(from) <= most)
        return true;
    for (uint32_t left = STROBE_STACK_DEPTH_MAX; id && left && id <= most; left--) {
        const struct strobe_stack_node *node = strobe_stack_node_of(from, id);
        id = node ? node->parent : 0;
    }
    return !id;
}

static void copy_record(struct copying *c, const struct strobe_ring_item *item)
{
    const struct strobe_record *r = &item->record;
    bool has_metrics = r->flags & STROBE_FLAG_METRICS;
    if (r->thread >= c->to.header->config.threads_max || r->kind >= STROBE_KIND_COUNT)
        return;
    struct strobe_account *account = &c->to.threads[r->thread].account[r->kind];
    if (!is_wanted(r, c->since_ticks)) {
        take_excess(&account->sampled, r->count);
        return;
    }
    c->lacks_room |= !stack_fits(c, r->stack) || slots_of(r) > c->slots_left;
    if (!stack_fits(c, r->stack) || slots_of(r) > c->slots_left)
        return;
    if (strobe_ring_write(&c->to.ring, &c->writer, r, has_metrics ? &item->metrics : NULL) != STROBE_OK)
        return;
    c->slots_left -= slots_of(r);
    strobe_add_relaxed(&account->requests, r->count);
}

/* A record with metrics never spans two chunks, so each chunk may leave one slot unused. */
static void copy_records(struct copying *c)
{
    struct strobe_ring_item item;
    uint32_t chunks = strobe_ring_slot_count(&c->to.ring) / STROBE_CHUNK_SLOTS;
    c->slots_left = chunks * (STROBE_CHUNK_SLOTS - 1);
    strobe_ring_writer_init(&c->to.ring, &c->writer, 0);
    for (uint32_t slot = 0; next_record(&c->from->ring, &slot, &item);)
        copy_record(c, &item);
    strobe_ring_writer_close(&c->to.ring, &c->writer);
}

/* ---- threads */

static void copy_account(const struct strobe_account *from, struct strobe_account *to)
{
    strobe_store_relaxed(&to->sampled, strobe_load_relaxed(&from->sampled));
    strobe_store_relaxed(&to->gated, strobe_load_relaxed(&from->gated));
    strobe_store_relaxed(&to->paused, strobe_load_relaxed(&from->paused));
    strobe_store_relaxed(&to->reentrant, strobe_load_relaxed(&from->reentrant));
    strobe_store_relaxed(&to->unwind_failed, strobe_load_relaxed(&from->unwind_failed));
    strobe_store_relaxed(&to->dropped, strobe_load_relaxed(&from->dropped));
}

static void copy_accounts_at_begin(struct copying *c)
{
    uint32_t count = strobe_session_thread_count(c->from), most = c->to.header->config.threads_max;
    c->threads_at_begin = count < most ? count : most;
    for (uint32_t i = 0; i < c->threads_at_begin; i++) {
        const struct strobe_thread_entry *e = &c->from->threads[i];
        for (unsigned kind = 0; kind < STROBE_KIND_COUNT; kind++)
            copy_account(&e->account[kind], &c->to.threads[i].account[kind]);
        strobe_store_relaxed(&c->to.threads[i].overwrote_samples, strobe_load_relaxed(&e->overwrote_samples));
    }
}

/* Copies all but the accounts and overwrote_samples. An entry that its thread has not published stays empty. */
static void copy_thread(const struct strobe_thread_entry *from, struct strobe_thread_entry *to)
{
    if (strobe_load_acquire(&from->state) == STROBE_THREAD_FREE)
        return;
    uint64_t overwrote = strobe_load_relaxed(&to->overwrote_samples);
    copy_shared_words(to, from, offsetof(struct strobe_thread_entry, account));
    strobe_store_relaxed(&to->overwrote_samples, overwrote);
    to->name[sizeof to->name - 1] = '\0';
}

static void copy_threads(struct copying *c)
{
    uint32_t count = strobe_session_thread_count(c->from), most = c->to.header->config.threads_max;
    count = count < most ? count : most;
    for (uint32_t i = 0; i < count; i++)
        copy_thread(&c->from->threads[i], &c->to.threads[i]);
    strobe_store_relaxed(&c->to.header->thread_count, count);
}

/* ---- stacks, images, names */

static void copy_stacks(struct copying *c)
{
    const struct strobe_stack_table *from = &c->from->stacks;
    struct strobe_stack_table_head *head = c->to.stacks.head;
    uint32_t count = strobe_stack_node_count(from);
    count = count < head->node_capacity ? count : head->node_capacity;
    for (uint32_t id = 1; id <= count; id++) {
        const struct strobe_stack_node *node = strobe_stack_node_of(from, id);
        if (!node)
            continue;
        c->to.stacks.nodes[id].address = node->address;
        c->to.stacks.nodes[id].parent = node->parent;
        strobe_store_relaxed(&c->to.stacks.nodes[id].depth, strobe_load_relaxed(&node->depth));
    }
    strobe_store_relaxed(&head->next_node, count + 1);
    strobe_store_relaxed(&head->full_count, strobe_load_relaxed(&from->head->full_count));
}

static void copy_images(struct copying *c)
{
    uint32_t count = strobe_session_image_count(c->from), most = c->to.header->config.images_max;
    count = count < most ? count : most;
    for (uint32_t i = 0; i < count; i++)
        if (strobe_load_acquire(&c->from->images[i].published) == 1)
            memcpy(&c->to.images[i], &c->from->images[i], sizeof c->to.images[i]);
    strobe_store_relaxed(&c->to.header->image_count, count);
}

static uint64_t names_used(const struct strobe_session *s)
{
    uint64_t used = s->names.head ? strobe_load_acquire(&s->names.head->used) : 0;
    return s->names.head && used <= s->names.bytes - sizeof *s->names.head ? used : 0;
}

/* Names that were added since the copy was measured may not fit: only a whole region is copied. */
static void copy_names(struct copying *c)
{
    uint64_t used = names_used(c->from);
    if (!c->to.names.head || used > c->to.names.bytes - sizeof *c->to.names.head)
        return;
    memcpy(c->to.names.head + 1, c->from->names.head + 1, (size_t)used);
    strobe_store_relaxed(&c->to.names.head->used, used);
    strobe_store_relaxed(&c->to.names.head->refused, strobe_load_relaxed(&c->from->names.head->refused));
}

/* ---- header and accounting */

/* In a session that is not closed, a stop that is in progress is left out. */
static void copy_header(struct copying *c)
{
    const size_t first = offsetof(struct strobe_session_header, begin);
    const struct strobe_session_header *from = c->from->header;
    struct strobe_session_header *to = c->to.header;
    uint32_t threads = strobe_load_relaxed(&to->thread_count), images = strobe_load_relaxed(&to->image_count);
    copy_shared_words((char *)to + first, (const char *)from + first, (sizeof *to - first) & ~(size_t)7);
    strobe_store_relaxed(&to->thread_count, threads);
    strobe_store_relaxed(&to->image_count, images);
    to->pid = from->pid;
    to->ticks_per_second = from->ticks_per_second;
    strobe_store_relaxed(&to->state, c->closed ? STROBE_SESSION_CLOSED : STROBE_SESSION_RUNNING);
    if (c->closed)
        return;
    to->end = (struct strobe_clock_pair){0};
    strobe_store_relaxed(&to->suspends, strobe_load_relaxed(&to->resumes));
}

/* Makes the sum of overwritten samples equal to the samples that the accounts have and the copy has not. */
static void settle_overwritten(struct copying *c, uint64_t missing)
{
    uint32_t count = strobe_session_thread_count(&c->to);
    strobe_a64 *rest = &c->to.header->async_overwrote_samples;
    uint64_t sum = strobe_load_relaxed(rest);
    for (uint32_t i = 0; i < count; i++)
        sum += strobe_load_relaxed(&c->to.threads[i].overwrote_samples);
    if (missing > sum)
        strobe_add_relaxed(rest, missing - sum);
    uint64_t excess = sum > missing ? take_excess(rest, sum - missing) : 0;
    for (uint32_t i = 0; i < count; i++)
        excess = take_excess(&c->to.threads[i].overwrote_samples, excess);
}

/* Turns the count of present samples in `requests` into the sum of all outcomes. Returns the samples that the account
 * has and the copy has not. */
static uint64_t settle_account(struct strobe_account *a)
{
    uint64_t present = strobe_load_relaxed(&a->requests), sampled = strobe_load_relaxed(&a->sampled);
    sampled = sampled > present ? sampled : present;
    strobe_store_relaxed(&a->sampled, sampled);
    strobe_store_relaxed(&a->requests, sampled + strobe_load_relaxed(&a->gated) + strobe_load_relaxed(&a->paused) +
                                           strobe_load_relaxed(&a->unwind_failed) + strobe_load_relaxed(&a->dropped));
    return sampled - present;
}

static void settle_accounts(struct copying *c)
{
    uint64_t missing = 0;
    for (uint32_t i = 0; i < strobe_session_thread_count(&c->to); i++)
        for (unsigned kind = 0; kind < STROBE_KIND_COUNT; kind++)
            missing += settle_account(&c->to.threads[i].account[kind]);
    settle_overwritten(c, missing);
}

/* ---- */

static enum strobe_status copy_measure_again(const struct strobe_session *from, uint64_t since_ticks, unsigned tries,
                                             struct strobe_session_copy *out)
{
    const struct strobe_config *c = &from->header->config;
    struct strobe_ring_item item;
    /* A sixteenth more, because each chunk of the copy may leave a slot unused. */
    uint64_t most_slots = (uint64_t)strobe_ring_slot_count(&from->ring) * 17 / 16 + MORE_SLOTS;
    uint32_t slots = 0;
    if (c->call_units)
        return STROBE_UNSUPPORTED;
    for (uint32_t slot = 0; next_record(&from->ring, &slot, &item);)
        slots += is_wanted(&item.record, since_ticks) ? slots_of(&item.record) : 0;
    out->config = *c;
    most_slots = most_slots < STROBE_RING_SLOTS_MAX ? most_slots : STROBE_RING_SLOTS_MAX;
    out->config.ring_slots = with_reserve(slots + slots / 16, MORE_SLOTS, tries, (uint32_t)most_slots);
    out->config.ring_subs = 1;
    out->config.stack_nodes = with_reserve(strobe_stack_node_count(&from->stacks), MORE_NODES, tries, c->stack_nodes);
    out->config.threads_max = with_reserve(strobe_session_thread_count(from), MORE_THREADS, 0, c->threads_max);
    out->config.images_max = with_reserve(strobe_session_image_count(from), MORE_IMAGES, 0, c->images_max);
    if (c->names_bytes)
        out->config.names_bytes =
            (uint32_t)(names_used(from) + sizeof *from->names.head + 2 * NAMES_PAGE - 1) / NAMES_PAGE * NAMES_PAGE;
    out->bytes = strobe_session_file_bytes(&out->config);
    return STROBE_OK;
}

enum strobe_status strobe_session_copy_measure(const struct strobe_session *from, uint64_t since_ticks,
                                               struct strobe_session_copy *out)
{
    return copy_measure_again(from, since_ticks, 0, out);
}

enum strobe_status strobe_session_copy_make(const struct strobe_session *from, uint64_t since_ticks,
                                            const struct strobe_session_copy *copy, void *memory)
{
    struct copying c = {.from = from, .since_ticks = since_ticks};
    enum strobe_status status = strobe_session_create_at(memory, &copy->config, NULL, &c.to);
    if (status != STROBE_OK)
        return status;
    c.closed = strobe_load_acquire(&from->header->state) == STROBE_SESSION_CLOSED;
    copy_accounts_at_begin(&c);
    copy_records(&c);
    copy_stacks(&c);
    copy_names(&c);
    copy_images(&c);
    copy_threads(&c);
    copy_header(&c);
    settle_accounts(&c);
    return c.lacks_room ? STROBE_FULL : STROBE_OK;
}

/* Asks for huge pages where the system has them, because half of the time of a large copy goes to page faults. */
static void prefer_huge_pages(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    if (bytes >= HUGE_COPY_BYTES)
        (void)madvise(memory, bytes, MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}

/* Maps memory for a measured copy, and makes it. On failure, STROBE_FULL excepted, nothing is mapped. */
static enum strobe_status copy_map_measured(const struct strobe_session *from, uint64_t since_ticks,
                                            const struct strobe_session_copy *copy, void **memory, size_t *bytes)
{
    *bytes = (size_t)copy->bytes;
    *memory = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (*memory == MAP_FAILED)
        return STROBE_NO_MEMORY;
    prefer_huge_pages(*memory, *bytes);
    enum strobe_status status = strobe_session_copy_make(from, since_ticks, copy, *memory);
    if (status != STROBE_OK && status != STROBE_FULL)
        munmap(*memory, *bytes);
    return status;
}

enum strobe_status strobe_session_copy_map(const struct strobe_session *from, uint64_t since_ticks, uint64_t most,
                                           void **memory, size_t *bytes)
{
    struct strobe_session_copy copy, larger;
    enum strobe_status status = strobe_session_copy_measure(from, since_ticks, &copy);
    if (status != STROBE_OK)
        return status;
    if (copy.bytes > most)
        return STROBE_FULL;
    for (unsigned tries = 1;
         (status = copy_map_measured(from, since_ticks, &copy, memory, bytes)) == STROBE_FULL && tries < TRIES;
         tries++) {
        if (copy_measure_again(from, since_ticks, tries, &larger) != STROBE_OK || larger.bytes > most)
            break;
        munmap(*memory, *bytes);
        copy = larger;
    }
    return status == STROBE_FULL ? STROBE_OK : status; /* the last copy counts what did not fit as overwritten */
}

uint64_t strobe_session_ticks_since(const struct strobe_session_header *h, uint64_t now, uint64_t last_ns)
{
    uint64_t rate = h->ticks_per_second, ticks;
    uint64_t seconds = last_ns / 1000000000, rest = last_ns % 1000000000 * (rate / 1000000) / 1000;
    if (strobe_load_acquire(&h->state) == STROBE_SESSION_CLOSED)
        now = h->end.ticks;
    if (!last_ns || __builtin_mul_overflow(seconds, rate, &ticks) || ticks + rest >= now)
        return 0;
    return now - ticks - rest;
}
