#include "engine/backend/linux/handshake.h"

enum { IDLE = 0, ASKED = 1, CLAIMED = 2, STOPPED = 3, STATE_MASK = 3, SEQUENCE_STEP = 4, CHECK_AGAIN_NS = 1000000 };

/* ---- the sampler's side ---- */

bool strobe_handshake_ask(struct strobe_handshake *h, uint32_t tid, const strobe_a32 *blocked, uint32_t *request)
{
    *request = (strobe_load_relaxed(&h->word) & ~(uint32_t)STATE_MASK) + SEQUENCE_STEP;
    strobe_store_relaxed(&h->tid, tid);
    strobe_store_release(&h->word, *request | ASKED);
    strobe_fence_seq_cst(); /* the request is visible before the read; the target sets `blocked` first */
    if (!strobe_load_relaxed(blocked))
        return true;
    strobe_handshake_withdraw(h, *request);
    return false;
}

static bool cancel_request(struct strobe_handshake *h, uint32_t request)
{
    uint32_t asked = request | ASKED;
    if (!strobe_cas_relaxed(&h->word, &asked, request | IDLE))
        return false;
    strobe_handshake_wake(&h->word);
    return true;
}

void strobe_handshake_withdraw(struct strobe_handshake *h, uint32_t request)
{
    /* A late signal can have claimed the request. Its target stands soon, unless the watchdog ends the stop before. */
    while (!cancel_request(h, request)) {
        uint32_t seen = strobe_load_acquire(&h->word);
        if (seen == (request | STOPPED))
            strobe_handshake_resume(h);
        if (seen != (request | CLAIMED))
            break;
        strobe_handshake_sleep(&h->word, seen, CHECK_AGAIN_NS);
    }
    strobe_store_relaxed(&h->tid, 0);
}

bool strobe_handshake_await(struct strobe_handshake *h, uint32_t request, const struct strobe_host *host,
                            uint64_t deadline_ns)
{
    uint32_t seen;
    while ((seen = strobe_load_acquire(&h->word)) == (request | ASKED) || seen == (request | CLAIMED)) {
        uint64_t now = host->ticks(host->ctx);
        if (now >= deadline_ns && seen == (request | ASKED) && cancel_request(h, request))
            break;
        uint64_t left = now < deadline_ns ? deadline_ns - now : 0;
        strobe_handshake_sleep(&h->word, seen, left ? left : CHECK_AGAIN_NS);
    }
    if (seen == (request | STOPPED))
        return true;
    strobe_store_relaxed(&h->tid, 0);
    return false;
}

bool strobe_handshake_resume(struct strobe_handshake *h)
{
    uint32_t stopped = (strobe_load_relaxed(&h->word) & ~(uint32_t)STATE_MASK) | STOPPED;
    bool held = strobe_cas_release(&h->word, &stopped, stopped & ~(uint32_t)STATE_MASK);
    strobe_store_relaxed(&h->tid, 0);
    if (held)
        strobe_handshake_wake(&h->word);
    return held;
}

/* ---- the target's side ---- */

bool strobe_handshake_claim(struct strobe_handshake *h, uint32_t tid, uint32_t *request)
{
    uint32_t asked = strobe_load_acquire(&h->word);
    *request = asked & ~(uint32_t)STATE_MASK;
    /* A late signal of an earlier request to this thread may claim the present one. This is correct. */
    return (asked & STATE_MASK) == ASKED && strobe_load_relaxed(&h->tid) == tid &&
           strobe_cas_relaxed(&h->word, &asked, *request | CLAIMED);
}

/* Ends the request with the word `seen`, in the place of a sampler that makes no progress. */
static void end_request_by_watchdog(struct strobe_handshake *h, uint32_t seen)
{
    strobe_cas_relaxed(&h->word, &seen, (seen & ~(uint32_t)STATE_MASK) | IDLE);
}

void strobe_handshake_stand(struct strobe_handshake *h, uint32_t request)
{
    uint32_t stopped = request | STOPPED;
    strobe_store_release(&h->word, stopped);
    strobe_handshake_wake(&h->word);
    while (strobe_load_acquire(&h->word) == stopped)
        if (strobe_handshake_sleep(&h->word, stopped, STROBE_LINUX_WATCHDOG_NS))
            end_request_by_watchdog(h, stopped);
}

void strobe_handshake_settle_asked(struct strobe_handshake *h, uint32_t tid)
{
    while (strobe_load_relaxed(&h->tid) == tid) {
        uint32_t seen = strobe_load_relaxed(&h->word);
        if ((seen & STATE_MASK) == IDLE)
            return;
        if (strobe_handshake_sleep(&h->word, seen, STROBE_LINUX_WATCHDOG_NS))
            end_request_by_watchdog(h, seen);
    }
}
