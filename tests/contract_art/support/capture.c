#include "tests/contract_art/support/capture.h"
#include "engine/base/error.h"

#include "sim/genuine/jni_calls.h"
#include "tests/support/temporary.h"

#include <link.h>
#include <string.h>
#include <unistd.h>

void capture_config(struct strobe_config *config)
{
    strobe_config_default(config);
    config->interval_main_ns = config->interval_other_ns = 0;
    config->scope_min_ns = 0;
    config->async_interval_ns = 0;
    config->ring_slots = 1 << 16;
    config->threads_max = 256;
    config->stack_nodes = 1 << 14;
    config->names_bytes = 1 << 16;
}

bool capture_managed_only;

bool capture_begin(struct contract *c, const struct strobe_config *config, struct capture *out)
{
    return capture_begin_with(c, config, (struct strobe_art_options){0}, out);
}

bool capture_begin_by(struct contract *c, const struct strobe_config *config, const struct strobe_inline_hooker *hooker,
                      struct capture *out)
{
    struct strobe_art_options o = {.hooker = hooker, .hooking = STROBE_ART_HOOKING_NONE};
    return capture_begin_with(c, config, o, out);
}

bool capture_begin_with(struct contract *c, const struct strobe_config *config, struct strobe_art_options o,
                        struct capture *out)
{
    static int number;
    struct strobe_error error = {""};
    *out = (struct capture){.contract = c};
    temporary_path(out->path, "contract_art.%d.%d", (int)getpid(), ++number);
    if (!CHECK(c, strobe_session_create(out->path, config, NULL, 1, &out->session) == STROBE_OK, "%s", out->path))
        return false;
    strobe_session_unmap(&out->session);
    o.session_path = out->path;
    o.library = c->art.library_name;
    o.api = c->art.api;
    o.managed_only |= capture_managed_only;
    enum strobe_status status = strobe_art_start(c->art.vm, &o, &out->status, &error);
    if (!CHECK(c, status == STROBE_OK, "%s", error.text))
        unlink(out->path);
    return status == STROBE_OK;
}

/* Checks for each thread and kind that requests = sampled + gated + paused + reentrant + unwind_failed + dropped.
 * Returns the sum of `sampled`, which must be the samples in the ring plus the overwritten ones. */
static uint64_t check_accounts(const struct capture *k)
{
    uint64_t sampled = 0;
    for (uint32_t i = 0; i < strobe_session_thread_count(&k->session); i++) {
        struct strobe_thread_entry *t = &k->session.threads[i];
        for (uint32_t kind = 0; kind < STROBE_KIND_COUNT; kind++) {
            struct strobe_account *a = &t->account[kind];
            CHECK(k->contract,
                  strobe_account_requests(a) ==
                      a->sampled + a->gated + a->paused + a->reentrant + a->unwind_failed + a->dropped,
                  "%s of %s: %llu requests", strobe_kind_name(kind), t->name,
                  (unsigned long long)strobe_account_requests(a));
            sampled += a->sampled;
        }
    }
    return sampled;
}

static uint64_t overwritten(const struct capture *k)
{
    uint64_t n = k->session.header->async_overwrote_samples;
    for (uint32_t i = 0; i < strobe_session_thread_count(&k->session); i++)
        n += k->session.threads[i].overwrote_samples;
    return n;
}

enum strobe_kind capture_wait_of(const struct capture *k, uint32_t tid)
{
    struct strobe_session live;
    uint32_t kind = 0;
    if (strobe_session_open(k->path, &live) != STROBE_OK)
        return (enum strobe_kind)0;
    for (uint32_t i = 0; i < strobe_session_thread_count(&live); i++)
        if (live.threads[i].tid == tid && strobe_load_acquire(&live.threads[i].scope_begin_ticks))
            kind = strobe_load_relaxed(&live.threads[i].scope_kind);
    strobe_session_unmap(&live);
    return (enum strobe_kind)kind;
}

uint64_t capture_count_async(const struct capture *k, uint32_t tid)
{
    struct strobe_session live;
    uint64_t samples = 0;
    if (strobe_session_open(k->path, &live) != STROBE_OK)
        return 0;
    for (uint32_t i = 0; i < strobe_session_thread_count(&live); i++)
        if (live.threads[i].tid == tid)
            samples += strobe_load_relaxed(&live.threads[i].account[STROBE_KIND_ASYNC].sampled);
    strobe_session_unmap(&live);
    return samples;
}

static void count_samples(void *ctx, const struct strobe_record *r)
{
    *(uint64_t *)ctx += r->count;
}

void capture_end(struct capture *k)
{
    uint64_t present = 0;
    strobe_art_stop();
    k->open = CHECK(k->contract, strobe_session_open(k->path, &k->session) == STROBE_OK, "%s", k->path);
    unlink(k->path);
    if (!k->open)
        return;
    CHECK(k->contract, strobe_load_relaxed(&k->session.header->state) == STROBE_SESSION_CLOSED, "a closed session");
    CHECK(k->contract, k->session.header->suspends == k->session.header->resumes, "nobody left suspended");
    uint64_t sampled = check_accounts(k);
    capture_visit(k, count_samples, &present);
    CHECK(k->contract, sampled == present + overwritten(k), "%llu sampled, %llu present", (unsigned long long)sampled,
          (unsigned long long)present);
}

bool capture_has(const struct capture *k, enum strobe_art_use feature)
{
    return k->status.on >> feature & 1;
}

void capture_drop(struct capture *k)
{
    if (k->open)
        strobe_session_unmap(&k->session);
    k->open = false;
}

void capture_visit(const struct capture *k, void (*visit)(void *ctx, const struct strobe_record *r), void *ctx)
{
    const struct strobe_ring *ring = &k->session.ring;
    struct strobe_ring_item item;
    for (uint32_t i = 0; i < strobe_ring_slot_count(ring); i++)
        if (strobe_ring_look(ring, i, &item) == STROBE_LOOK_RECORD)
            visit(ctx, &item.record);
}

uint64_t capture_requests(const struct capture *k, enum strobe_kind kind)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < strobe_session_thread_count(&k->session); i++)
        n += strobe_account_requests(&k->session.threads[i].account[kind]);
    return n;
}

uint32_t capture_thread(const struct capture *k, const char *name)
{
    for (uint32_t i = 0; i < strobe_session_thread_count(&k->session); i++)
        if (!strcmp(k->session.threads[i].name, name))
            return i;
    return UINT32_MAX;
}

const char *capture_frame(const struct capture *k, uint32_t stack, uint32_t depth)
{
    static char text[256];
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint32_t count, managed = 0;
    if (strobe_stack_frames(&k->session.stacks, stack, frames, STROBE_STACK_DEPTH_MAX, &count) != STROBE_OK)
        return "";
    while (count) {
        struct strobe_named_address n;
        uint64_t at = 0;
        count--;
        while (strobe_names_next(&k->session.names, &at, &n))
            if (n.address == frames[count] && managed++ == depth) {
                snprintf(text, sizeof text, "%.*s", (int)n.bytes, n.text);
                return text;
            }
    }
    return "";
}

void capture_call(struct contract *c, const char *name, const char *signature, int32_t argument)
{
    struct strobe_jni *env = strobe_jvm_env(c->art.vm);
    strobe_jclass class = strobe_jni_find_class(env, "Main");
    strobe_jmethod method = class ? strobe_jni_static_method(env, class, name, signature) : NULL;
    if (CHECK(c, method != NULL, "Main.%s", name))
        sim_jni_call_static(env, class, method, (union strobe_jvalue[]){{.i = argument}});
}

struct code {
    const char *library;
    uint64_t sum;
};

static int sum_code(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct code *c = ctx;
    (void)size;
    if (!strstr(info->dlpi_name, c->library))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const unsigned char *bytes = (const unsigned char *)info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && p->p_flags & PF_X)
            for (size_t at = 0; at < p->p_memsz; at++)
                c->sum = (c->sum ^ bytes[at]) * 0x100000001b3u; /* FNV-1a */
    }
    return 0;
}

uint64_t capture_code_sum(const struct contract *c)
{
    struct code code = {c->art.library_name, 0xcbf29ce484222325u};
    dl_iterate_phdr(sum_code, &code);
    return code.sum;
}
