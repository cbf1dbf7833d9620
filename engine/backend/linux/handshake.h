/* Handshake by which the sampler stops another thread of its process, reads that thread, and resumes it.
 *
 * This file defines the state word and its transitions. suspend.c sends and receives the signal and implements the two
 * wait functions at the end of this file. The rest makes no system call, so every interleaving of it can be explored
 * (tests/explore/engine/engine_suspend.c).
 *
 *   sampler   ask, [send the signal], await, [read the target's memory], resume
 *   target    in its signal handler: claim, [save the registers], stand
 *             before a blocking call: set `blocked`, a full fence, settle
 *
 * A process has at most one request at a time. The request's word is sequence << 2 | state:
 *
 *   IDLE -> ASKED       ask (release). `tid` names the target
 *   ASKED -> CLAIMED    claim. From here on the target writes `regs`
 *   CLAIMED -> STOPPED  stand (release). `regs` is complete, and the target waits on the word
 *   ASKED -> IDLE       one of: await, after the deadline; withdraw; settle in the target, when the sampler makes no
 *                       progress within the watchdog's time. A handler that runs later finds no request
 *   STOPPED -> IDLE     one of: resume (release), after the sampler's last read of the target; stand in the target,
 *                       when the sampler does not resume it within the watchdog's time
 *
 * IDLE -> ASKED and CLAIMED -> STOPPED are stores. The other transitions are compare-and-swaps. Each stop therefore
 * ends exactly once, and resume learns whether it ended the stop. The transitions out of ASKED and those of the
 * watchdog are relaxed. They continue the release sequence of the store before them, so a later acquire load still
 * synchronizes with that store.
 *
 * The target writes `blocked`, issues a full fence and reads the request. The sampler writes the request, issues a full
 * fence and reads `blocked`. So either the sampler sees `blocked` and withdraws, or settle sees the request and waits
 * until it has ended. A late signal of an earlier request can claim the present request, even while the sampler
 * withdraws it. The sampler then waits until the target stands, and resumes it.
 *
 * A sampler that stops or dies at any point delays its target by at most the watchdog's time. When a target stops
 * between claim and stand, the sampler waits for it without a limit. */
#ifndef STROBE_BACKEND_LINUX_HANDSHAKE_H
#define STROBE_BACKEND_LINUX_HANDSHAKE_H

#include "engine/host/host.h"

#include <stdbool.h>

enum { STROBE_LINUX_WATCHDOG_NS = 200 * 1000 * 1000 };

struct strobe_handshake {
    strobe_a32 word;
    strobe_a32 tid;          /* the target; 0 = none */
    struct strobe_regs regs; /* written by the target between claim and stand, read after await */
};

/* Asks thread `tid` to stop. *request receives the request's sequence for the calls below. Returns false when `blocked`
 * was set. The request is then withdrawn, and the caller must not send a signal. Sampler. */
bool strobe_handshake_ask(struct strobe_handshake *h, uint32_t tid, const strobe_a32 *blocked, uint32_t *request);

/* Withdraws a request for which no signal was sent. Sampler. */
void strobe_handshake_withdraw(struct strobe_handshake *h, uint32_t request);

/* Waits until the target stands. Returns false in two cases: the target has not claimed the request by `deadline_ns` of
 * the host's clock, or the watchdog has already ended the stop. The target then no longer stops for this request. Once
 * the target has claimed the request, the function waits for it beyond the deadline. Sampler. */
bool strobe_handshake_await(struct strobe_handshake *h, uint32_t request, const struct strobe_host *host,
                            uint64_t deadline_ns);

/* Resumes the target. Returns false when the watchdog has resumed it before. The caller must then discard what it read
 * of the target. Sampler. */
bool strobe_handshake_resume(struct strobe_handshake *h);

/* Claims the request when it asks thread `tid` to stop. When it returns true, the caller must save the registers and
 * then call strobe_handshake_stand. In the target's signal handler. */
bool strobe_handshake_claim(struct strobe_handshake *h, uint32_t tid, uint32_t *request);

/* Publishes that the target stands, and returns when the target may continue. In the target's signal handler. */
void strobe_handshake_stand(struct strobe_handshake *h, uint32_t request);

/* The slow part of strobe_handshake_settle. */
void strobe_handshake_settle_asked(struct strobe_handshake *h, uint32_t tid);

/* Returns when no request to stop the calling thread `tid` is pending. Plain loads suffice: the sampler writes a
 * request's tid and word before its full fence. Any. */
static inline void strobe_handshake_settle(struct strobe_handshake *h, uint32_t tid)
{
    if (strobe_load_relaxed(&h->tid) == tid)
        strobe_handshake_settle_asked(h, tid);
}

/* Implemented by suspend.c. strobe_handshake_sleep sleeps while *word is `expected`, until it is woken or interrupted,
 * or until `ns` have passed. It returns true when `ns` have passed. strobe_handshake_wake wakes all threads that sleep
 * on the word. */
bool strobe_handshake_sleep(strobe_a32 *word, uint32_t expected, uint64_t ns);
void strobe_handshake_wake(strobe_a32 *word);

#endif
