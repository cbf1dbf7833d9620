#include "engine/flight/flight.h"

#include "engine/base/error.h"
#include "engine/store/session_copy.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { SHORTER_COPIES = 8, CRASH_STEP_MS = 100 };

/* ---- what became of the last trigger: one writer, a seqlock */

static void note_last(struct strobe_flight *f, const char *text)
{
    uint32_t version = strobe_load_relaxed(&f->last_version);
    size_t n = strnlen(text, 8 * STROBE_FLIGHT_LAST_WORDS - 1);
    strobe_store_relaxed(&f->last_version, version + 1);
    strobe_fence_release();
    for (size_t i = 0; i < STROBE_FLIGHT_LAST_WORDS; i++) {
        uint64_t word = 0;
        for (size_t k = 0; k < 8 && 8 * i + k < n; k++)
            word |= (uint64_t)(unsigned char)text[8 * i + k] << 8 * k;
        strobe_store_relaxed(&f->last[i], word);
    }
    strobe_store_release(&f->last_version, version + 2);
}

void strobe_flight_last(const struct strobe_flight *f, char *out, size_t bytes)
{
    uint32_t version;
    do {
        version = strobe_load_acquire(&f->last_version);
        for (size_t i = 0; i + 1 < bytes && i < 8 * STROBE_FLIGHT_LAST_WORDS; i++)
            out[i] = (char)(strobe_load_relaxed(&f->last[i / 8]) >> i % 8 * 8);
        strobe_fence_acquire();
    } while (version % 2 || version != strobe_load_relaxed(&f->last_version));
    out[bytes - 1 < 8 * STROBE_FLIGHT_LAST_WORDS ? bytes - 1 : 8 * STROBE_FLIGHT_LAST_WORDS - 1] = '\0';
}

/* ---- the state */

static void note_day(struct strobe_flight *f)
{
    uint64_t now = f->host->realtime_ns(), most = (UINT64_C(1) << STROBE_FLIGHT_DAY_SHIFT) - 1;
    uint64_t bytes = strobe_dump_bytes_of_day(&f->config.folder, now);
    strobe_store_relaxed(&f->today, strobe_dump_day_of(now) << STROBE_FLIGHT_DAY_SHIFT | (bytes < most ? bytes : most));
}

struct strobe_flight_counts strobe_flight_count(const struct strobe_flight *f, uint64_t realtime_ns)
{
    uint64_t today = strobe_load_relaxed(&f->today), day = today >> STROBE_FLIGHT_DAY_SHIFT;
    return (struct strobe_flight_counts){
        .dumps = strobe_load_acquire(&f->dumps),
        .refused = strobe_load_relaxed(&f->refused),
        .writing = (enum strobe_trigger)strobe_load_relaxed(&f->writing),
        .cause = (enum strobe_trigger)strobe_load_relaxed(&f->cause),
        .bytes_today = day == strobe_dump_day_of(realtime_ns) ? today ^ day << STROBE_FLIGHT_DAY_SHIFT : 0,
    };
}

/* ---- the cause */

static uint32_t index_of_main(const struct strobe_session *s)
{
    for (uint32_t i = 0; i < strobe_session_thread_count(s); i++)
        if (s->threads[i].is_main)
            return i + 1;
    return 0;
}

/* Of several threads that had the id one after another, the last one counts. */
static uint32_t index_of_tid(const struct strobe_session *s, uint32_t tid)
{
    for (uint32_t i = strobe_session_thread_count(s); tid && i; i--)
        if (s->threads[i - 1].tid == tid)
            return i;
    return 0;
}

static struct strobe_dump_cause find_cause(struct strobe_flight *f, const struct strobe_session *s,
                                           enum strobe_trigger trigger)
{
    struct strobe_dump_cause c = {.trigger = trigger, .ticks = f->host->ticks(), .thread = index_of_main(s)};
    bool blocked = trigger == STROBE_TRIGGER_STALL || trigger == STROBE_TRIGGER_ANR;
    uint32_t holder_tid = 0;
    if (trigger == STROBE_TRIGGER_CRASH) {
        c.number = strobe_load_relaxed(&f->crash_number);
        c.thread = index_of_tid(s, strobe_load_relaxed(&f->crash_tid));
    }
    if (blocked)
        c.begin_ticks = trigger == STROBE_TRIGGER_STALL
                            ? strobe_load_relaxed(&f->stall_begin_ticks)
                            : (c.thread ? strobe_load_relaxed(&s->threads[c.thread - 1].scope_begin_ticks) : 0);
    if (blocked && c.thread && f->host->blocked_on)
        f->host->blocked_on(c.thread - 1, &c.what, &holder_tid);
    c.holder = index_of_tid(s, holder_tid);
    return c;
}

/* ---- dumps */

struct flight_copy {
    void *memory;
    size_t bytes;
    uint64_t since_ticks;
};

/* Copies what a dump may hold: the last seconds, or a half, a quarter, ... of them. */
static enum strobe_status copy_last(const struct strobe_flight *f, const struct strobe_session *s,
                                    const struct strobe_dump_cause *cause, struct flight_copy *out)
{
    enum strobe_status status = STROBE_FULL;
    for (int i = 0; i < SHORTER_COPIES && status == STROBE_FULL; i++) {
        out->since_ticks = strobe_session_ticks_since(s->header, cause->ticks, f->config.last_ns >> i);
        status = strobe_session_copy_map(s, out->since_ticks, f->config.folder.dump_bytes, &out->memory, &out->bytes);
    }
    if (status == STROBE_OK)
        ((struct strobe_session_header *)out->memory)->cause = *cause;
    return status;
}

/* Writes the dump again with what the runtime was asked for. The dump without it stays when that fails. */
static void complete_dump(const struct strobe_flight *f, const struct strobe_session *s,
                          const struct strobe_dump_cause *cause, uint64_t since_ticks, uint32_t slot)
{
    struct flight_copy again;
    struct strobe_error unused;
    if (!f->host->complete || cause->trigger == STROBE_TRIGGER_CRASH || !f->host->complete())
        return;
    if (strobe_session_copy_map(s, since_ticks, f->config.folder.dump_bytes, &again.memory, &again.bytes) != STROBE_OK)
        return;
    ((struct strobe_session_header *)again.memory)->cause = *cause;
    strobe_dump_rewrite(&f->config.folder, slot, f->host->realtime_ns(), again.memory, again.bytes, &unused);
    munmap(again.memory, again.bytes);
}

static enum strobe_status write_dump(struct strobe_flight *f, const struct strobe_session *s,
                                     enum strobe_trigger trigger, struct strobe_error *error)
{
    struct strobe_dump_cause cause = find_cause(f, s, trigger);
    struct flight_copy copy;
    uint32_t slot;
    if (f->host->refresh)
        f->host->refresh();
    enum strobe_status status = copy_last(f, s, &cause, &copy);
    if (status != STROBE_OK) {
        strobe_error_join(error, "no dump",
                          status == STROBE_FULL ? "the shortest one is longer than dump-bytes"
                                                : strobe_status_text(status));
        return status;
    }
    status = strobe_dump_write(&f->config.folder, f->host->realtime_ns(), copy.memory, copy.bytes, &slot, error);
    munmap(copy.memory, copy.bytes);
    if (status != STROBE_OK)
        return status;
    char path[STROBE_DUMP_PATH_BYTES];
    strobe_dump_path(&f->config.folder, slot, path);
    note_last(f, path);
    note_day(f);
    strobe_store_relaxed(&f->cause, trigger);
    strobe_add_acq_rel(&f->dumps, 1);
    complete_dump(f, s, &cause, copy.since_ticks, slot);
    note_day(f); /* the complete dump may be longer */
    return STROBE_OK;
}

static enum strobe_trigger find_most_urgent(uint32_t asked)
{
    static const enum strobe_trigger order[] = {STROBE_TRIGGER_CRASH, STROBE_TRIGGER_ANR, STROBE_TRIGGER_STALL,
                                                STROBE_TRIGGER_CONTROL, STROBE_TRIGGER_CALL};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (asked >> order[i] & 1)
            return order[i];
    return STROBE_TRIGGER_NONE;
}

static void serve_triggers(struct strobe_flight *f, uint32_t asked)
{
    const struct strobe_session *s;
    struct strobe_error error = {""};
    enum strobe_trigger trigger = find_most_urgent(asked);
    enum strobe_status status = STROBE_NO_ENTRY;
    if (trigger == STROBE_TRIGGER_NONE)
        return;
    strobe_store_relaxed(&f->writing, trigger);
    if (f->host->pin(&s)) {
        status = write_dump(f, s, trigger, &error);
        f->host->unpin();
    }
    if (status != STROBE_OK) {
        note_last(f, error.text[0] ? error.text : strobe_status_text(status));
        strobe_add_relaxed(&f->refused, 1);
    }
    strobe_store_relaxed(&f->writing, STROBE_TRIGGER_NONE);
    if (trigger == STROBE_TRIGGER_CRASH) {
        strobe_store_release(&f->crash_done, 1);
        f->host->wake(&f->crash_done);
    }
}

/* ---- the thread */

void strobe_flight_arm(struct strobe_flight *f, const struct strobe_flight_config *config,
                       const struct strobe_flight_host *host)
{
    f->config = *config;
    f->host = host;
    f->stall = (struct strobe_stall){0};
    strobe_store_relaxed(&f->asked, 0);
    strobe_store_relaxed(&f->dumps, 0);
    strobe_store_relaxed(&f->refused, 0);
    strobe_store_relaxed(&f->writing, STROBE_TRIGGER_NONE);
    strobe_store_relaxed(&f->cause, STROBE_TRIGGER_NONE);
    strobe_store_relaxed(&f->today, 0);
    strobe_store_release(&f->armed, 1);
}

void strobe_flight_run(struct strobe_flight *f, uint32_t tid)
{
    strobe_store_relaxed(&f->thread, tid);
    note_day(f);
    for (;;) {
        uint32_t asked = strobe_exchange_acq_rel(&f->asked, 0);
        int ms = f->host->idle_ms ? f->host->idle_ms() : -1;
        serve_triggers(f, asked);
        if (asked & STROBE_FLIGHT_END || ms == STROBE_FLIGHT_NO_MORE)
            break;
        if (!asked)
            f->host->wait(&f->asked, 0, ms);
    }
    strobe_store_release(&f->armed, 0);
}

static void set_asked(struct strobe_flight *f, uint32_t bit)
{
    uint32_t before = strobe_load_relaxed(&f->asked);
    while (!strobe_cas_acq_rel(&f->asked, &before, before | bit))
        continue;
    f->host->wake(&f->asked);
}

void strobe_flight_ask_to_end(struct strobe_flight *f)
{
    if (strobe_load_acquire(&f->armed))
        set_asked(f, STROBE_FLIGHT_END);
}

void strobe_flight_recheck(struct strobe_flight *f)
{
    if (strobe_load_acquire(&f->armed))
        set_asked(f, STROBE_FLIGHT_RECHECK);
}

bool strobe_flight_ask(struct strobe_flight *f, enum strobe_trigger trigger)
{
    if (!strobe_load_acquire(&f->armed) || !(f->config.triggers >> trigger & 1))
        return false;
    set_asked(f, 1u << trigger);
    return true;
}

/* A second thread that crashes meanwhile waits, too: it would end the process. */
void strobe_flight_crashed(struct strobe_flight *f, int number, uint32_t tid)
{
    int saved = errno;
    uint32_t none = 0;
    bool waits = strobe_load_acquire(&f->armed) && strobe_load_relaxed(&f->thread) != tid;
    if (waits && strobe_cas_acq_rel(&f->crash_number, &none, (uint32_t)number)) {
        strobe_store_relaxed(&f->crash_tid, tid);
        waits = strobe_flight_ask(f, STROBE_TRIGGER_CRASH);
    }
    for (uint64_t waited = 0; waits && waited < STROBE_FLIGHT_CRASH_NS / 1000000; waited += CRASH_STEP_MS) {
        if (strobe_load_acquire(&f->crash_done))
            break;
        f->host->wait(&f->crash_done, 0, CRASH_STEP_MS);
    }
    errno = saved;
}

void strobe_flight_look(struct strobe_flight *f, const struct strobe_session *session, uint64_t now)
{
    if (!strobe_load_acquire(&f->armed) || !(f->config.triggers >> STROBE_TRIGGER_STALL & 1))
        return;
    uint64_t rate = session->header->ticks_per_second, ns = f->config.stall_ns;
    uint64_t least = ns / 1000000000 * rate + ns % 1000000000 * rate / 1000000000;
    uint32_t main_thread = index_of_main(session);
    if (!main_thread || !strobe_stall_look(&f->stall, &session->threads[main_thread - 1], now, least))
        return;
    strobe_store_relaxed(&f->stall_begin_ticks, f->stall.since_ticks);
    strobe_flight_ask(f, STROBE_TRIGGER_STALL);
}
