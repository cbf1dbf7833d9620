/* The hand-shake by which one thread of a process stops another: the words, and who may move them. What it takes of the
 * system is a signal, which suspend.c sends and receives, and two ways to wait, named below; so every interleaving of
 * the rest can be explored (tests/explore/engine/engine_suspend.c).
 *
 *   sampler   ask, [send the signal], await, [read the target's memory], resume
 *   target    in its handler: claim, [save the registers], stand
 *             before a blocking call: set `blocked`, a full fence, settle
 *
 * One request a process at a time. Its word is sequence << 2 | state:
 *
 *   IDLE -> ASKED       ask (release): who is asked is written
 *   ASKED -> CLAIMED    claim, by compare-and-swap: the registers are the target's to write now
 *   CLAIMED -> STOPPED  stand (release): they are written; the target waits on the word
 *   ASKED -> IDLE       await, too late: the handler, should it run after all, finds nothing to claim. Or withdraw. Or
 *                       the target in settle, when the sampler has not gone on within the watchdog's time
 *   STOPPED -> IDLE     resume (release): the target goes on after all that was read of it; or the target itself, when
 *                       the sampler has not come back within the watchdog's time
 *
 * All but the first and third are by compare-and-swap, so each stop ends once, and resume learns whether it was the one
 * that ended it. Those out of ASKED and the watchdog's hand nothing on: what STOPPED released stays there for whoever
 * reads the word after them (release sequences).
 *
 * `blocked` and the request are each written, then a full fence, then the other is read: either the sampler sees
 * `blocked` and withdraws, or settle sees the request and waits until it has ended. A signal of an earlier request can
 * come late and claim the present one, also one that is being withdrawn: it is then waited for and resumed.
 *
 * A sampler that stops or dies anywhere holds up its target for no longer than the watchdog's time. A target that stops
 * between claim and stand is waited for. */
#ifndef STROBE_BACKEND_LINUX_HANDSHAKE_H
#define STROBE_BACKEND_LINUX_HANDSHAKE_H

#include "engine/host/host.h"

#include <stdbool.h>

enum { STROBE_LINUX_WATCHDOG_NS = 200 * 1000 * 1000 };

struct strobe_handshake {
    strobe_a32 word;
    strobe_a32 tid;          /* who is asked; 0 = nobody */
    struct strobe_regs regs; /* written by the target between claim and stand, read after await */
};

/* Asks thread `tid` to stop. The request's sequence in *request, for the calls below. False when `blocked` was set: the
 * request is withdrawn, and no signal must be sent. Sampler. */
bool strobe_handshake_ask(struct strobe_handshake *h, uint32_t tid, const strobe_a32 *blocked, uint32_t *request);

/* Takes the request back, for which no signal was sent. Sampler. */
void strobe_handshake_withdraw(struct strobe_handshake *h, uint32_t request);

/* Waits until the target stands. False when it had not got to its handler by `deadline_ns` of the host's clock, or
 * the watchdog let it go before we looked: it will not stop for this request any more. Once the target has claimed the
 * request it is on its way and is waited for. Sampler. */
bool strobe_handshake_await(struct strobe_handshake *h, uint32_t request, const struct strobe_host *host,
                            uint64_t deadline_ns);

/* Lets the target go on. False when the watchdog did before: what was read of it must not be used. Sampler. */
bool strobe_handshake_resume(struct strobe_handshake *h);

/* True when thread `tid` is asked to stop, and now has to: save the registers, then stand. In its handler. */
bool strobe_handshake_claim(struct strobe_handshake *h, uint32_t tid, uint32_t *request);

/* Says that it stands, and returns when it may go on. In its handler. */
void strobe_handshake_stand(struct strobe_handshake *h, uint32_t request);

/* The slow part of strobe_handshake_settle. */
void strobe_handshake_settle_asked(struct strobe_handshake *h, uint32_t tid);

/* Returns once no request to stop the calling thread `tid` is on its way. Plain loads will do: each request's tid and
 * word are before the full fence of their sampler. Any. */
static inline void strobe_handshake_settle(struct strobe_handshake *h, uint32_t tid)
{
    if (strobe_load_relaxed(&h->tid) == tid)
        strobe_handshake_settle_asked(h, tid);
}

/* What it takes of the system, given beside it: sleeps while *word is `expected`, until woken, interrupted, or for `ns`
 * in all; true when these are over. Wakes all who sleep on the word. */
bool strobe_handshake_sleep(strobe_a32 *word, uint32_t expected, uint64_t ns);
void strobe_handshake_wake(strobe_a32 *word);

#endif
