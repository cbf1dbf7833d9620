/* Waits and releases meet in a table of buckets, by the identity of the object that is waited for.
 *
 * A bucket has a ticket counter, a struct strobe_waiter for each current wait, and notes of the latest releases that a
 * thread waited for. Tickets order the begins of waits and the releases of one bucket. Clocks are not used for this
 * order, because the two threads may read them late, and on different processors.
 *
 * waiter    what    0 -> what        a waiting thread, by compare-and-swap: it then owns the entry
 *                   what -> 0        the owner (release), or for a dead owner the thread that retires it; ticket was
 *                                    set to 0 before
 *           ticket  0 -> t << 1      the owner
 *                   t << 1 -> | 1    a releaser (acquire), by compare-and-swap: the release that it notes is meant for
 *                                    this wait
 *                   t << 1 | 1 -> t << 1   a waiter that claimed the release meant for this wait, by compare-and-swap
 * beyond    counts waits that found no free entry. While there is one, every release of the bucket is noted
 * waiting   counts all waits. Releasers read it first
 * note      seq     s -> t << 1 | 1  a releaser that has drawn ticket t, by compare-and-swap from an even s: it then
 *                                    owns the note. t << 1 (release) when it is written. Readers copy between two equal
 *                                    even loads (seqlock, see ring.h)
 *           claim   t << 1 -> | 1    the waiter that a release of one wait has ended, by compare-and-swap: once (S-71)
 * lost      grows                    a releaser whose note is not written, or that is about to overwrite a note that a
 *                                    waiter may still search for. A wait that began before the lost release trusts only
 *                                    notes that cannot be confused with it
 *
 * Order of memory accesses. A waiter stores `what`, adds to `waiting` (release), executes a full fence, draws its
 * ticket, and then its thread checks the lock again. A releaser loads `waiting` (sequentially consistent, like the lock
 * words that are checked again) before it draws a ticket and releases. Draws acquire and release: all that precedes an
 * earlier ticket is visible after a later ticket. So when a waiter finds the lock taken after it has registered, every
 * later owner of the lock sees the waiter (S-73).
 *
 * The exception is a releaser that has loaded `waiting` already but has not yet released, a few instructions later. If
 * it misses a waiter, that waiter's record has no waker of a lock, because every release of it that could be mistaken
 * for the missed one has a ticket from before the wait. For releases that another release can follow at once (enum
 * strobe_release except LOCK and SHARED), the following release may be named instead (tests/explore,
 * blocking/in-flight).
 *
 * A note is written completely before its releaser releases. A thread that this release wakes therefore sees the note
 * through the lock itself.
 *
 * Which release is the waker, by kind of release (enum strobe_release):
 *
 *   LOCK, SHARED   one note for each lock, the last release. No thread can add a release between the hand-over and the
 *                  search of the thread that then has the lock. A waiter that was overtaken finds the later release
 *                  (S-70)
 *   ONE            as many releases are noted as there are waiters
 *   ALL, TARGET    the first release since the last wait began
 *
 * A stopped or dead waiter that is not removed keeps its struct strobe_waiter, and its releasers take samples. Threads
 * that detach or are retired are removed. A releaser that stops while it writes a note withholds that note. No thread
 * waits for another: every loop is bounded. */
#include "engine/capture/blocking.h"

enum { KNOWS_NOTHING, WAITS, HAS_WAKER, NO_WAKER }; /* state of a struct strobe_wait */
enum { TRIES = 4, STACKS_AN_INTERVAL = 2 };

struct bucket {
    struct strobe_block *block;
    struct strobe_waiter *waiter;
    struct strobe_release_note *note;
};

static struct bucket wait_bucket_of(const struct strobe_thread *t, uint64_t what)
{
    struct strobe_blocking *all = t->engine->blocking;
    uint32_t i = strobe_block_index(what);
    return (struct bucket){&all->block[i], all->waiter[i], all->note[i]};
}

static uint64_t draw_ticket(struct bucket b)
{
    return strobe_add_acq_rel(&b.block->tickets, 1) + 1;
}

/* ---- waiting */

static void register_wait(struct bucket b, struct strobe_wait *w, uint64_t begin_ticks)
{
    for (w->waiter = 0; w->waiter < STROBE_BLOCK_WAITERS; w->waiter++) {
        strobe_a64 *what = &b.waiter[w->waiter].what;
        uint64_t nothing = 0;
        if (!strobe_load_relaxed(what) && strobe_cas_relaxed(what, &nothing, w->what))
            break;
    }
    if (w->waiter == STROBE_BLOCK_WAITERS)
        strobe_add_relaxed(&b.block->beyond, 1);
    strobe_fence_release();
    strobe_add_relaxed(&b.block->waiting, 1);
    /* Registered, then the lock is checked. An entry that belonged to another wait is now fully this wait's. A releaser
     * that finds this ticket in it also finds `what`. */
    strobe_fence_seq_cst();
    /* The draw comes last: a releaser with a later ticket has seen this wait and noted its release, and so have all
     * later ones. */
    w->ticket = draw_ticket(b);
    if (w->waiter == STROBE_BLOCK_WAITERS)
        return;
    strobe_store_relaxed(&b.waiter[w->waiter].begin_ticks, begin_ticks);
    strobe_store_relaxed(&b.waiter[w->waiter].ticket, w->ticket << 1);
}

static void unregister_wait(struct bucket b, const struct strobe_wait *w)
{
    if (w->waiter < STROBE_BLOCK_WAITERS) {
        strobe_store_relaxed(&b.waiter[w->waiter].ticket, 0);
        strobe_store_release(&b.waiter[w->waiter].what, 0);
    } else {
        strobe_add_relaxed(&b.block->beyond, UINT32_MAX);
    }
    strobe_add_relaxed(&b.block->waiting, UINT32_MAX);
}

void strobe_wait_begin(struct strobe_thread *t, uint64_t what)
{
    if (!what || !t->scope_count || strobe_load_relaxed(&t->inside))
        return;
    struct strobe_scope *s = &t->scope[t->scope_count - 1];
    struct strobe_wait *w = &s->wait;
    if (w->state == WAITS)
        return;
    strobe_store_relaxed(&t->inside, 1);
    strobe_fence_signal();
    w->what = what;
    register_wait(wait_bucket_of(t, what), w, s->begin_ticks);
    w->state = WAITS;
    strobe_thread_leave(t);
}

void strobe_wait_drop(struct strobe_thread *t, struct strobe_scope *s)
{
    if (s->wait.state != WAITS)
        return;
    s->wait.state = KNOWS_NOTHING;
    unregister_wait(wait_bucket_of(t, s->wait.what), &s->wait);
}

void strobe_wait_drop_all(struct strobe_thread *t)
{
    for (uint32_t i = 0; i < t->scope_count; i++)
        strobe_wait_drop(t, &t->scope[i]);
}

bool strobe_wait_has_release(const struct strobe_thread *t, uint64_t what)
{
    for (uint32_t i = t->scope_count; i--;) {
        const struct strobe_wait *w = &t->scope[i].wait;
        if (w->state == WAITS && w->what == what)
            return w->waiter == STROBE_BLOCK_WAITERS ||
                   (strobe_load_relaxed(&wait_bucket_of(t, what).waiter[w->waiter].ticket) & 1);
    }
    return false;
}

/* ---- releases */

/* Returns true when a thread waits for `what` and no release of this kind is noted for it yet. */
static bool has_waiter(struct bucket b, uint64_t what, enum strobe_release how)
{
    bool every = how == STROBE_RELEASE_LOCK || how == STROBE_RELEASE_SHARED;
    if (strobe_load_relaxed(&b.block->beyond))
        return true;
    for (uint32_t i = 0; i < STROBE_BLOCK_WAITERS; i++)
        if (strobe_load_relaxed(&b.waiter[i].what) == what &&
            (every || !(strobe_load_relaxed(&b.waiter[i].ticket) & 1)))
            return true;
    return false;
}

/* Returns true when a thread has waited for `what` so long by `now` that its wait will be recorded. */
static bool has_long_waiter(const struct strobe_thread *t, struct bucket b, uint64_t what, uint64_t now)
{
    uint64_t least = strobe_ticks_of_ns(t->engine->host, t->engine->config.scope_min_ns);
    if (strobe_load_relaxed(&b.block->beyond))
        return true;
    for (uint32_t i = 0; i < STROBE_BLOCK_WAITERS; i++)
        if (strobe_load_relaxed(&b.waiter[i].what) == what && strobe_load_relaxed(&b.waiter[i].ticket) &&
            now - strobe_load_relaxed(&b.waiter[i].begin_ticks) >= least)
            return true;
    return false;
}

/* The stack of a release is taken only for long waits, and at most a few times in an interval. */
static bool deserves_stack(struct strobe_thread *t, struct bucket b, uint64_t what, uint64_t now)
{
    if (now - t->handed_ticks < t->gate.interval_ticks / STACKS_AN_INTERVAL || !has_long_waiter(t, b, what, now))
        return false;
    t->handed_ticks = now;
    return true;
}

static bool mark_waiter(struct strobe_waiter *w, uint64_t ticket)
{
    return strobe_cas_relaxed(&w->ticket, &ticket, ticket | 1);
}

/* Marks the longest waiter that no release is meant for yet. Returns the ticket of its begin; 0 = unknown. */
static uint64_t mark_longest(struct bucket b, uint64_t what)
{
    /* A waiter without an entry may have waited longer. */
    for (uint32_t tries = 0; tries < TRIES && !strobe_load_relaxed(&b.block->beyond); tries++) {
        struct strobe_waiter *longest = NULL;
        uint64_t first = UINT64_MAX;
        for (uint32_t i = 0; i < STROBE_BLOCK_WAITERS; i++) {
            uint64_t ticket = strobe_load_acquire(&b.waiter[i].ticket);
            if (strobe_load_relaxed(&b.waiter[i].what) != what || !ticket || ticket & 1 || ticket >= first)
                continue;
            first = ticket;
            longest = &b.waiter[i];
        }
        if (!longest)
            return 0;
        if (mark_waiter(longest, first))
            return first >> 1;
    }
    return 0;
}

static void mark_all_waiters(struct bucket b, uint64_t what)
{
    for (uint32_t i = 0; i < STROBE_BLOCK_WAITERS; i++) {
        uint64_t ticket = strobe_load_acquire(&b.waiter[i].ticket);
        if (strobe_load_relaxed(&b.waiter[i].what) == what && ticket && !(ticket & 1))
            mark_waiter(&b.waiter[i], ticket);
    }
}

static bool is_lock_wait(uint64_t how)
{
    return how == STROBE_RELEASE_LOCK || how == STROBE_RELEASE_SHARED;
}

/* Notes that a release is lost. Waits that began before it may search for it in vain. Each further iteration means that
 * another thread has noted a lost release. */
static void raise_lost_ticket(struct bucket b, uint64_t ticket)
{
    uint64_t lost = strobe_load_relaxed(&b.block->lost);
    while (lost < ticket && !strobe_cas_relaxed(&b.block->lost, &lost, ticket))
        continue;
}

/* A note that may be overwritten. */
struct place {
    struct strobe_release_note *note;
    uint64_t seq;
    bool same_lock, may_be_missed;
};

/* Returns the note of the same lock, else the oldest note. `.note` is NULL when all notes are being written. */
static struct place find_release_place(struct bucket b, uint64_t what, enum strobe_release how)
{
    struct place best = {.seq = UINT64_MAX};
    for (uint32_t i = 0; i < STROBE_BLOCK_RELEASES; i++) {
        struct strobe_release_note *n = &b.note[i];
        uint64_t seq = strobe_load_acquire(&n->seq);
        if (seq & 1)
            continue;
        uint64_t its = strobe_load_relaxed(&n->how);
        if (seq && is_lock_wait(how) && its == (uint64_t)how && strobe_load_relaxed(&n->what) == what)
            return (struct place){n, seq, true, false};
        if (seq < best.seq)
            best = (struct place){n, seq, false, seq && !is_lock_wait(its) && !(strobe_load_relaxed(&n->claim) & 1)};
    }
    return best;
}

/* Takes ownership of a note. Returns NULL when a later release of the lock is noted already, or when other threads took
 * all notes first. The fields that find_release_place has read belong to `seq` if the exchange succeeds. */
static struct strobe_release_note *claim_release_note(struct bucket b, uint64_t ticket, uint64_t what,
                                                      enum strobe_release how)
{
    for (uint32_t tries = 0; tries < TRIES; tries++) {
        struct place p = find_release_place(b, what, how);
        if (p.same_lock && p.seq >> 1 > ticket)
            return NULL;
        if (!p.note)
            continue;
        if (p.may_be_missed)
            raise_lost_ticket(b, p.seq >> 1); /* before the exchange: a thread that finds the note gone finds this */
        if (strobe_cas_release(&p.note->seq, &p.seq, ticket << 1 | 1))
            return p.note;
    }
    return NULL;
}

static void write_release_note(struct strobe_thread *t, uint64_t what, enum strobe_release how,
                               struct strobe_place place)
{
    struct bucket b = wait_bucket_of(t, what);
    uint64_t ticket = draw_ticket(b), meant_for = 0;
    if (how == STROBE_RELEASE_ONE)
        meant_for = mark_longest(b, what);
    else if (!is_lock_wait(how))
        mark_all_waiters(b, what);
    struct strobe_release_note *n = claim_release_note(b, ticket, what, how);
    if (!n && !is_lock_wait(how))
        raise_lost_ticket(b, ticket);
    if (!n)
        return;
    strobe_fence_release();
    strobe_store_relaxed(&n->what, what);
    strobe_store_relaxed(&n->ticks, place.ticks);
    strobe_store_relaxed(&n->who, (uint64_t)t->index << 32 | place.stack);
    strobe_store_relaxed(&n->how, how);
    strobe_store_relaxed(&n->meant_for, meant_for);
    strobe_store_relaxed(&n->claim, ticket << 1);
    strobe_store_release(&n->seq, ticket << 1);
}

/* The release is an ordinary event. */
static void pass_gate(struct strobe_thread *t, uint64_t what, struct strobe_site site, uint64_t now)
{
    if (!strobe_thread_enter(t, STROBE_KIND_UNLOCK))
        return;
    strobe_point_at(t, STROBE_KIND_UNLOCK, what, site, now);
    strobe_thread_leave(t);
}

uint64_t strobe_hand_over_noted(struct strobe_thread *t, uint64_t what, enum strobe_release how,
                                struct strobe_site site)
{
    struct bucket b = wait_bucket_of(t, what);
    if (!has_waiter(b, what, how))
        return 0;
    struct strobe_place place = {.ticks = t->ticks(t->ticks_ctx)};
    if (!deserves_stack(t, b, what, place.ticks))
        pass_gate(t, what, site, place.ticks);
    else if (!strobe_point_placed(t, STROBE_KIND_UNLOCK, what, site, &place))
        return 0;
    write_release_note(t, what, how, place);
    return place.ticks ? place.ticks : 1;
}

void strobe_release(struct strobe_thread *t, uint32_t on, uint64_t what, enum strobe_release how,
                    struct strobe_site site)
{
    struct bucket b = wait_bucket_of(t, what);
    if (strobe_hand_over(t, what, how, site))
        return;
    strobe_point(t, on, STROBE_KIND_UNLOCK, what, site);
    /* The event took time. A second check misses fewer of the waits that began meanwhile. */
    if (strobe_unlikely(strobe_load_relaxed(&b.block->waiting)) && has_waiter(b, what, how))
        write_release_note(t, what, how, (struct strobe_place){t->ticks(t->ticks_ctx), 0});
}

/* ---- the end of a wait */

struct release {
    uint64_t ticket, ticks, who, how, meant_for, claim;
    struct strobe_release_note *note;
};

/* Copies a note of `what` completely. Returns false when the note is of another object, or is being written: its
 * releaser then releases later. */
static bool copy_release_note(struct strobe_release_note *n, uint64_t what, struct release *r)
{
    uint64_t seq = strobe_load_acquire(&n->seq);
    if (!seq || seq & 1)
        return false;
    bool right = strobe_load_relaxed(&n->what) == what;
    *r = (struct release){.ticket = seq >> 1,
                          .ticks = strobe_load_relaxed(&n->ticks),
                          .who = strobe_load_relaxed(&n->who),
                          .how = strobe_load_relaxed(&n->how),
                          .meant_for = strobe_load_relaxed(&n->meant_for),
                          .claim = strobe_load_relaxed(&n->claim),
                          .note = n};
    strobe_fence_acquire();
    return right && strobe_load_relaxed(&n->seq) == seq;
}

/* Returns true when release `a` is a better candidate than `b` for having ended wait `w`. Both came after its begin. */
static bool is_better_release(const struct release *a, const struct release *b, const struct strobe_wait *w)
{
    if (is_lock_wait(a->how))
        return a->ticket > b->ticket;
    /* The release meant for this wait, unless all waits had ended by then. */
    bool a_mine = a->meant_for == w->ticket, b_mine = b->meant_for == w->ticket;
    if (a->how == STROBE_RELEASE_ONE && b->how == STROBE_RELEASE_ONE && a_mine != b_mine)
        return a_mine;
    return a->ticket < b->ticket;
}

/* Another waiter has claimed the release meant for the wait of that ticket, so that wait needs another release. */
static void unmark_waiter(struct bucket b, uint64_t ticket)
{
    for (uint32_t i = 0; i < STROBE_BLOCK_WAITERS; i++) {
        uint64_t marked = ticket << 1 | 1;
        if (strobe_load_relaxed(&b.waiter[i].ticket) == marked &&
            strobe_cas_relaxed(&b.waiter[i].ticket, &marked, ticket << 1))
            return;
    }
}

/* Claims the release for this waiter. Fails only for a release of one wait that another waiter has claimed. */
static bool blocking_claim_release(struct bucket b, struct release *r, const struct strobe_wait *w)
{
    if (r->how != STROBE_RELEASE_ONE)
        return true;
    uint64_t free = r->ticket << 1;
    if (!strobe_cas_relaxed(&r->note->claim, &free, free | 1))
        return false;
    if (r->meant_for && r->meant_for != w->ticket)
        unmark_waiter(b, r->meant_for);
    return true;
}

/* Finds the release that ended wait `w` of thread t among the notes. out->ticket is 0 when none is certain. */
static void search_release(struct bucket b, const struct strobe_thread *t, const struct strobe_wait *w, bool shared,
                           struct release *out)
{
    bool ambiguous = false;
    *out = (struct release){0};
    for (uint32_t i = 0; i < STROBE_BLOCK_RELEASES; i++) {
        struct release r;
        if (!copy_release_note(&b.note[i], w->what, &r) || r.ticket <= w->ticket || r.who >> 32 == t->index ||
            r.claim & 1 || (shared && r.how == STROBE_RELEASE_SHARED))
            continue;
        ambiguous |= out->ticket && out->who >> 32 != r.who >> 32;
        if (!out->ticket || is_better_release(&r, out, w))
            *out = r;
    }
    bool sure = is_lock_wait(out->how) || out->meant_for == w->ticket;
    if (!sure && ((ambiguous && out->how == STROBE_RELEASE_ONE) || strobe_load_relaxed(&b.block->lost) > w->ticket))
        out->ticket = 0;
}

/* A release after `deadline_ticks` came too late to have ended the wait, and is left to others. */
static bool find_release(struct strobe_thread *t, const struct strobe_wait *w, uint64_t deadline_ticks, bool shared,
                         struct release *out)
{
    struct bucket b = wait_bucket_of(t, w->what);
    for (uint32_t tries = 0; tries < STROBE_BLOCK_RELEASES; tries++) {
        search_release(b, t, w, shared, out);
        if (!out->ticket || out->ticks > deadline_ticks)
            return false;
        if (blocking_claim_release(b, out, w))
            return true;
    }
    return false;
}

static void end_wait_by(struct strobe_thread *t, uint64_t what, enum strobe_wake how, uint64_t deadline_ticks,
                        bool shared)
{
    uint32_t i = t->scope_count;
    while (i && (t->scope[i - 1].wait.state != WAITS || t->scope[i - 1].wait.what != what))
        i--;
    if (!i || strobe_load_relaxed(&t->inside))
        return;
    strobe_store_relaxed(&t->inside, 1);
    strobe_fence_signal();
    struct strobe_wait *w = &t->scope[i - 1].wait;
    struct release r;
    strobe_wait_drop(t, &t->scope[i - 1]);
    if (how == STROBE_WAKE_RELEASED && find_release(t, w, deadline_ticks, shared, &r)) {
        w->state = HAS_WAKER;
        w->waker = (uint32_t)(r.who >> 32);
        w->waker_stack = (uint32_t)r.who;
        w->release_ticks = r.ticks;
    } else if (how == STROBE_WAKE_TIMEOUT || how == STROBE_WAKE_INTERRUPTED ||
               (deadline_ticks != UINT64_MAX && t->ticks(t->ticks_ctx) >= deadline_ticks)) {
        w->state = NO_WAKER;
    }
    strobe_thread_leave(t);
}

void strobe_wait_end(struct strobe_thread *t, uint64_t what, enum strobe_wake how, bool shared)
{
    end_wait_by(t, what, how, UINT64_MAX, shared);
}

void strobe_wait_end_timed(struct strobe_thread *t, uint64_t what, uint64_t deadline_ticks)
{
    end_wait_by(t, what, STROBE_WAKE_RELEASED, deadline_ticks, false);
}

bool strobe_wait_record(const struct strobe_scope *s, uint64_t now, struct strobe_record *r)
{
    const struct strobe_wait *w = &s->wait;
    if (w->state != HAS_WAKER && w->state != NO_WAKER)
        return false;
    uint64_t ticks = w->state == HAS_WAKER ? w->release_ticks : now;
    ticks = ticks < s->begin_ticks ? s->begin_ticks : ticks < now ? ticks : now;
    *r = (struct strobe_record){
        .ticks = ticks, .duration = now - ticks, .arg = w->what, .kind = STROBE_KIND_WAKE, .count = 1};
    if (w->state == HAS_WAKER) {
        r->stack = w->waker_stack;
        r->cpu_span_ns = w->waker + 1;
    }
    return true;
}
