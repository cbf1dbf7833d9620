#include "engine/method/entry.h"

#include <string.h>

_Thread_local struct strobe_entry_thread strobe_entry_local;

static strobe_a32 never_on;
strobe_a32 *strobe_entry_switch = &never_on;
static const strobe_a64 no_clock;
const strobe_a64 *strobe_entry_clock = &no_clock;
struct strobe_entry_engine strobe_entry_engine;

static const struct strobe_call_log *entry_call_log(void)
{
    return &strobe_entry_engine.session->calls;
}

/* Sets the thread's busy word, and returns its previous value. The thread that closes the session reads these words. A
 * signal handler that interrupts a claim restores the word as it found it. */
static uint32_t entry_set_busy(const struct strobe_entry_thread *t)
{
    strobe_a32 *busy = &strobe_entry_engine.busy[t->thread - 1];
    uint32_t before = strobe_load_relaxed(busy);
    strobe_store_relaxed(busy, 1);
    strobe_fence_seq_cst(); /* the word is stored before the switch is read; the closing thread turns the switch before
                               it reads the words */
    return before;
}

static void entry_restore_busy(const struct strobe_entry_thread *t, uint32_t before)
{
    strobe_store_release(&strobe_entry_engine.busy[t->thread - 1], before);
}

/* Finds the thread's index. Only the outermost hook does so: a handler's hook that interrupts it does without. */
static bool entry_attach_thread(struct strobe_entry_thread *t, const struct strobe_entry_level *l)
{
    uint32_t thread;
    if (l != &t->level[0] || t->ended)
        return false;
    enum strobe_status status = strobe_entry_engine.attach(&thread);
    t->ended = status == STROBE_FULL;
    t->thread = status == STROBE_OK ? thread + 1 : 0;
    return status == STROBE_OK;
}

bool strobe_entry_refill(struct strobe_entry_thread *t, struct strobe_entry_level *l)
{
    if (t->ended || (!t->thread && !entry_attach_thread(t, l))) {
        strobe_add_relaxed(&strobe_entry_engine.session->header->events_untracked, 1);
        return false;
    }
    uint32_t before = entry_set_busy(t);
    bool on = strobe_load_relaxed(strobe_entry_switch) == STROBE_ON;
    bool room = on && strobe_call_refill(entry_call_log(), &l->writer, t->thread - 1);
    if (on && !room)
        strobe_call_refuse(entry_call_log(), t->thread - 1, 1);
    entry_restore_busy(t, l == &t->level[0] ? 0 : before);
    return room;
}

static uint64_t entry_ticks(void)
{
    const struct strobe_host *host = strobe_entry_engine.host;
    uint64_t ticks = strobe_load_relaxed(strobe_entry_clock);
    return ticks ? ticks : host->ticks(host->ctx);
}

static bool entry_resume_when_due(void)
{
    const struct strobe_entry_engine *e = &strobe_entry_engine;
    uint32_t paused = STROBE_PAUSED;
    if (strobe_load_relaxed(strobe_entry_switch) == STROBE_ON)
        return true;
    if (strobe_load_relaxed(strobe_entry_switch) != STROBE_PAUSED || e->host->ticks(e->host->ctx) < e->resume_ticks)
        return false;
    return strobe_cas_relaxed(strobe_entry_switch, &paused, STROBE_ON) || paused == STROBE_ON;
}

/* Makes a level usable whose hook was left by a jump. The jump may have left a claim of the outermost hook, which is
 * then over: its thread is not busy any more. */
static void entry_repair_level(const struct strobe_entry_thread *t, struct strobe_entry_level *l)
{
    strobe_call_repair(entry_call_log(), &l->writer);
    if (t->thread && l == &t->level[0])
        entry_restore_busy(t, 0);
}

void strobe_entry_record_slow(uint64_t word, uintptr_t frame)
{
    struct strobe_entry_thread *t = &strobe_entry_local;
    if (!entry_resume_when_due())
        return;
    uint32_t i = 0;
    while (i < STROBE_ENTRY_LEVELS && t->level[i].inside && !strobe_entry_engine.is_left(t->level[i].inside, frame))
        i++;
    if (i == STROBE_ENTRY_LEVELS) {
        if (t->thread)
            strobe_call_refuse(entry_call_log(), t->thread - 1, 1);
        return;
    }
    struct strobe_entry_level *l = &t->level[i];
    bool was_left = l->inside != 0;
    l->inside = frame;
    strobe_fence_signal();
    if (was_left)
        entry_repair_level(t, l);
    if (l->writer.next != l->writer.end || strobe_entry_refill(t, l))
        strobe_call_put(&l->writer, entry_ticks(), word);
    strobe_fence_signal();
    l->inside = 0;
}

void strobe_entry_end(void)
{
    struct strobe_entry_thread *t = &strobe_entry_local;
    t->ended = true;
    if (!t->thread)
        return;
    uint32_t before = entry_set_busy(t);
    for (uint32_t i = 0; i < STROBE_ENTRY_LEVELS && strobe_load_relaxed(strobe_entry_switch) != STROBE_OFF; i++)
        strobe_call_finish(entry_call_log(), &t->level[i].writer, t->thread - 1);
    entry_restore_busy(t, before);
}

void strobe_entry_forget(void)
{
    memset(&strobe_entry_local, 0, sizeof strobe_entry_local);
}

bool strobe_entry_quiet(void)
{
    strobe_fence_seq_cst();
    const struct strobe_session *s = strobe_entry_engine.session;
    if (!s)
        return true;
    uint32_t count = strobe_session_thread_count(s);
    for (uint32_t i = 0; i < count; i++)
        if (strobe_load_acquire(&strobe_entry_engine.busy[i]))
            return false;
    return true;
}
