#include "engine/capture/call_cpu.h"

enum {
    RESTING_PART = 4, /* a thread has mostly slept when it has used less than this part of the time */
    OFF_PART = 4,     /* it has kept its processor when it was off it for less than this part of the time */
};

/* Returns the time since the CPU time was known last, or UINT64_MAX when nothing follows from that. */
static uint64_t ns_since_known(const struct strobe_call_cpu *c, const struct strobe_host *host, uint64_t now)
{
    if (host->clock_keep || !c->ticks || now < c->ticks)
        return UINT64_MAX;
    return strobe_ns_of_ticks(host, now - c->ticks);
}

/* Returns the possible error of the CPU time of a thread that has been in no call for `ns`. */
static uint64_t error_between_calls_ns(const struct strobe_call_cpu *c, uint64_t ns)
{
    return c->keeps_processor ? ns / OFF_PART : ns;
}

bool strobe_call_cpu_begins(struct strobe_call_cpu *c, const struct strobe_host *host, uint64_t now, uint64_t *cpu_ns)
{
    uint64_t since_ns = ns_since_known(c, host, now), error_ns = error_between_calls_ns(c, since_ns);
    if (since_ns > STROBE_CALL_CPU_DOUBT_NS || c->doubt_ns + error_ns > STROBE_CALL_CPU_DOUBT_NS) {
        c->ran_ns = since_ns == UINT64_MAX ? 0 : since_ns;
        return false;
    }
    c->ticks = now;
    c->cpu_ns += since_ns;
    c->doubt_ns += error_ns;
    *cpu_ns = c->cpu_ns;
    return true;
}

static uint64_t error_in_call_ns(const struct strobe_call_cpu *c, uint32_t kind, uint64_t ns)
{
    if (strobe_call_only_waits(kind))
        return ns < STROBE_WAIT_USES_NS ? ns : STROBE_WAIT_USES_NS;
    return strobe_load_relaxed(&c->resting_kinds) >> kind & 1 ? ns / RESTING_PART : ns;
}

bool strobe_call_cpu_ends(struct strobe_call_cpu *c, const struct strobe_host *host, uint32_t kind, uint64_t now,
                          uint64_t *cpu_ns)
{
    uint64_t since_ns = ns_since_known(c, host, now);
    if (since_ns == UINT64_MAX)
        return false;
    uint64_t used_ns = c->use_ns[kind] < since_ns ? c->use_ns[kind] : since_ns;
    c->ticks = now;
    c->cpu_ns += used_ns;
    c->doubt_ns += error_in_call_ns(c, kind, since_ns);
    c->in_calls_ns += since_ns;
    c->used_ns += used_ns;
    c->calls++;
    *cpu_ns = c->cpu_ns;
    return c->use_ns[kind] && c->doubt_ns <= STROBE_CALL_CPU_DOUBT_NS;
}

/* Learns from the reading after one or more calls, the last of which was of `kind`. */
static void learn_from_calls(struct strobe_call_cpu *c, uint32_t kind, uint64_t cpu_ns)
{
    uint64_t before_ns = c->cpu_ns - c->used_ns, used_ns = cpu_ns > before_ns ? cpu_ns - before_ns : 0;
    uint64_t each_ns = used_ns / c->calls, lately_ns = c->use_ns[kind] ? (c->use_ns[kind] + each_ns) / 2 : each_ns;
    c->use_ns[kind] = lately_ns < UINT32_MAX ? (uint32_t)lately_ns : UINT32_MAX;
    bool rested = used_ns < c->in_calls_ns / RESTING_PART;
    uint32_t others = strobe_load_relaxed(&c->resting_kinds) & ~(1u << kind);
    strobe_store_relaxed(&c->resting_kinds, others | (uint32_t)rested << kind);
}

/* Learns from the reading at the begin of a call whether the thread has kept its processor since the call before. */
static void learn_from_run(struct strobe_call_cpu *c, uint64_t cpu_ns)
{
    uint64_t used_ns = cpu_ns > c->cpu_ns ? cpu_ns - c->cpu_ns : 0;
    c->keeps_processor = used_ns > c->ran_ns - c->ran_ns / OFF_PART;
}

void strobe_call_cpu_read(struct strobe_call_cpu *c, uint32_t kind, uint64_t now, uint64_t cpu_ns)
{
    if (kind != STROBE_KIND_NONE && c->calls)
        learn_from_calls(c, kind, cpu_ns);
    if (c->ran_ns)
        learn_from_run(c, cpu_ns);
    c->ran_ns = 0;
    c->ticks = now;
    c->cpu_ns = cpu_ns;
    c->doubt_ns = c->in_calls_ns = c->used_ns = 0;
    c->calls = 0;
}
