#include "engine/backend/art/names.h"
#include "engine/method/netease/art/netease.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MEMO = 1024 }; /* size of the cache of methods' kinds; a power of two */

struct fill {
    struct strobe_session *session;
    const struct strobe_netease_sampler *held;
    struct strobe_ring_writer writer;
    struct strobe_stack_cursor cursor;
    uint32_t thread_of[STROBE_NETEASE_THREADS]; /* thread id, by index in the session's table */
    uint32_t threads;
    struct {
        uint64_t method;
        bool pseudo;
    } memo[MEMO];
};

/* Returns whether it is one of the runtime's own methods, which no dex file contains. */
static bool netease_is_pseudo_method(struct fill *f, uint64_t method)
{
    const struct strobe_host *host = &f->held->host.linux.host;
    uint64_t at = method >> 3 & (MEMO - 1);
    uint32_t index = 0;
    size_t copied;
    if (f->memo[at].method == method)
        return f->memo[at].pseudo;
    host->read(host->ctx, method + f->held->host.libart->level->method_dex_index, &index, sizeof index, &copied);
    f->memo[at].method = method;
    f->memo[at].pseudo = index == UINT32_MAX;
    return f->memo[at].pseudo;
}

/* Reads the name of a thread that is still alive. */
static void netease_read_thread_name(uint32_t tid, char *out, size_t bytes)
{
    char path[64], name[17];
    snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    long n = fd < 0 ? 0 : read(fd, name, sizeof name);
    if (fd >= 0)
        close(fd);
    if (n > 0)
        snprintf(out, bytes, "%.*s", (int)n - 1, name);
}

/* Finds or adds the thread's entry in the session. STROBE_FULL: the session has no space for it. */
static enum strobe_status netease_thread_index(struct fill *f, const struct strobe_netease_capture *c, uint32_t *index)
{
    for (uint32_t i = 0; i < f->threads; i++)
        if (f->thread_of[i] == c->tid) {
            *index = i;
            return STROBE_OK;
        }
    int is_main = c->tid == f->held->host.linux.pid;
    if (f->threads == STROBE_NETEASE_THREADS ||
        strobe_session_add_thread(f->session, c->tid, is_main, c->ticks, index) != STROBE_OK)
        return STROBE_FULL;
    struct strobe_thread_entry *t = &f->session->threads[*index];
    netease_read_thread_name(c->tid, t->name, sizeof t->name);
    f->thread_of[f->threads++] = c->tid;
    return STROBE_OK;
}

/* Removes pseudo-methods, and keeps the innermost frames that fit into a session's stack. */
static uint32_t netease_choose_frames(struct fill *f, uint64_t *frames, struct strobe_netease_capture *c)
{
    uint32_t kept = 0, room = f->session->header->config.depth_max;
    for (uint32_t i = 0; i < c->count; i++)
        if (!netease_is_pseudo_method(f, frames[i]))
            frames[kept++] = frames[i];
    if (kept > room) {
        memmove(frames, frames + (kept - room), room * sizeof *frames);
        kept = room;
        c->cut = true;
    }
    return kept;
}

static void netease_add_sample(struct fill *f, struct strobe_netease_capture *c, uint64_t *frames)
{
    struct strobe_record r = {.ticks = c->ticks, .kind = STROBE_KIND_ASYNC, .count = 1};
    if (netease_thread_index(f, c, &r.thread) != STROBE_OK) {
        strobe_bump(&f->session->header->events_untracked, 1);
        return;
    }
    struct strobe_thread_entry *t = &f->session->threads[r.thread];
    struct strobe_account *a = &t->account[STROBE_KIND_ASYNC];
    uint32_t count = netease_choose_frames(f, frames, c);
    strobe_bump(&a->requests, 1);
    if (!count) {
        strobe_bump(&a->unwind_failed, 1);
        return;
    }
    r.flags = c->cut ? STROBE_FLAG_CUT : 0;
    if (strobe_stack_intern(&f->session->stacks, &f->cursor, frames, count, &r.stack) == STROBE_FULL)
        r.flags |= STROBE_FLAG_TABLE_FULL;
    bool kept = strobe_ring_write(&f->session->ring, &f->writer, &r, NULL) == STROBE_OK;
    strobe_bump(kept ? &a->sampled : &a->dropped, 1);
    strobe_store_relaxed(&t->last_sample_ticks, c->ticks);
}

static void netease_end_header(struct fill *f)
{
    struct strobe_session_header *h = f->session->header;
    const struct strobe_netease_counts *n = &f->held->counts;
    strobe_store_relaxed(&h->suspends, n->stops);
    strobe_store_relaxed(&h->resumes, n->resumes);
    strobe_store_relaxed(&h->suspend_late, n->not_stopped);
    strobe_store_relaxed(&h->suspend_gone, n->gone);
    strobe_store_relaxed(&h->async_overwrote_samples, f->writer.overwrote);
}

void strobe_netease_fill_session(struct strobe_session *session, const struct strobe_netease_sampler *held,
                                 struct strobe_netease_result *out)
{
    static struct fill f; /* used by one thread at a time; too large for a stack */
    static uint64_t frames[STROBE_NETEASE_FRAMES_MAX];
    const struct strobe_netease_ring *ring = held->ring;
    struct strobe_netease_capture c;
    struct strobe_art_names names = {0};
    uint64_t drawn = strobe_netease_ring_drawn(ring);
    memset(&f, 0, sizeof f);
    f.session = session;
    f.held = held;
    strobe_ring_writer_init(&session->ring, &f.writer, 0);
    *out = (struct strobe_netease_result){.counts = held->counts, .overwritten = strobe_netease_ring_overwritten(ring)};
    for (uint64_t i = out->overwritten; i < drawn; i++) /* oldest first, as in any session */
        if (strobe_netease_ring_read(ring, i, &c, frames) == STROBE_OK)
            netease_add_sample(&f, &c, frames);
    strobe_ring_writer_close(&session->ring, &f.writer);
    netease_end_header(&f);
    strobe_art_name_methods(held->host.libart, held->host.runtime, &held->host.linux.host, session, true, &names);
    out->named = names.named;
    out->stale = names.stale;
    out->unnamed = names.refused;
}
