#include "engine/trace/build/cpu_shares.h"

#include <string.h>

enum { WAITING_PERIODS = 2 }; /* limit of unassigned time in the kernel, and of the time that short calls wait for */

static void emit_share(struct strobe_cpu_shares *c, uint64_t begin_ns, uint32_t node, uint64_t cpu_ns)
{
    struct strobe_cpu_share share = {begin_ns, c->since.time_ns, node, cpu_ns};
    if (cpu_ns && node)
        c->sink->cpu(c->sink, &share);
}

static void emit_now(struct strobe_cpu_shares *c, uint32_t node, uint64_t cpu_ns)
{
    emit_share(c, c->since.time_ns, node, cpu_ns);
}

void strobe_cpu_shares_start(struct strobe_cpu_shares *c, const struct strobe_reader *reader,
                             const struct strobe_reader_thread *thread, const struct strobe_moment *now)
{
    const struct strobe_tally *ticks = &thread->kind[STROBE_KIND_CPU];
    c->interval_ns = ticks->present ? reader->session.header->config.async_interval_ns : 0;
    c->engine_part = ticks->sampled ? (double)ticks->reentrant / (double)ticks->sampled : 0;
    c->since = *now;
    c->call_ns = c->tick_cpu_ns = c->early_ns = 0;
    c->in_call = false;
    c->tick_node = c->syscall_node = c->waiting_call_count = 0;
    c->tick_sparse = false;
    c->kernel_ns = 0;
}

static void hold_early(struct strobe_cpu_shares *c, uint64_t begin_ns, uint32_t node, uint64_t cpu_ns)
{
    if (!c->early_ns)
        c->early_begin_ns = begin_ns;
    c->early_ns += cpu_ns;
    c->early_node = node;
}

/* Assigns up to `most_ns` of the CPU time before the first tick to `node`. */
static void assign_early(struct strobe_cpu_shares *c, uint32_t node, uint64_t most_ns)
{
    uint64_t ns = c->early_ns < most_ns ? c->early_ns : most_ns;
    emit_share(c, c->early_begin_ns, node, ns);
    c->early_ns -= ns;
}

void strobe_cpu_shares_move(struct strobe_cpu_shares *c, const struct strobe_moment *now, uint32_t node,
                            enum strobe_slice_class class, uint32_t call)
{
    uint64_t cpu_ns = now->cpu_ns - c->since.cpu_ns, begin_ns = c->since.time_ns;
    c->since = *now;
    c->in_call = call != 0;
    if (!c->interval_ns) {
        emit_share(c, begin_ns, node, cpu_ns);
    } else if (call || class == STROBE_SLICE_GAP) {
        emit_share(c, begin_ns, call ? call : node, cpu_ns);
        c->call_ns += cpu_ns;
    } else if (!c->tick_node) {
        hold_early(c, begin_ns, node, cpu_ns);
    }
}

static uint64_t clamp_ns(uint64_t ns, uint64_t least_ns, uint64_t most_ns)
{
    return ns < least_ns ? least_ns : ns > most_ns ? most_ns : ns;
}

/* Returns the estimated period of the clock, which is about `mean_ns`. `count` of its ticks were recorded while the
 * thread used `cpu_ns`. */
static uint64_t estimate_period(uint64_t mean_ns, uint64_t cpu_ns, uint32_t count)
{
    uint64_t periods = (cpu_ns + mean_ns / 2) / mean_ns;
    return clamp_ns(cpu_ns / (periods > count ? periods : count), mean_ns - mean_ns / 4, mean_ns + mean_ns / 4);
}

/* Returns the time in user code that `count` ticks stand for, of periods of about `mean_ns`. The thread has used
 * `cpu_ns` since the tick before. The clock begins a new period when its period changes. A sparse period that ends so
 * has no tick, and can contain as much user time as its length: the first dense tick after it stands for that, too. */
static uint64_t user_time_of_ticks(const struct strobe_cpu_shares *c, uint64_t mean_ns, uint64_t cpu_ns, uint32_t count)
{
    uint64_t user_ns = estimate_period(mean_ns, cpu_ns, count) * count, before_ns = 0;
    if (c->tick_sparse && mean_ns == c->interval_ns && cpu_ns > c->call_ns + user_ns)
        before_ns = clamp_ns(cpu_ns - c->call_ns - user_ns, 0, STROBE_SPARSE_NS);
    return user_ns + before_ns;
}

static int is_syscall_node(const struct strobe_cpu_shares *c, uint32_t node)
{
    const struct strobe_function_node *n = strobe_function_tree_node(c->tree, node);
    return !strncmp(strobe_function_tree_name(c->tree, n->name)->text, "[syscall", 8);
}

/* Assigns unassigned time in the kernel beyond `most_ns` to the kernel, under the frames of the tick. */
static void emit_kernel(struct strobe_cpu_shares *c, int64_t most_ns)
{
    if (c->kernel_ns <= most_ns)
        return;
    uint32_t node = is_syscall_node(c, c->tick_node)
                        ? c->tick_node
                        : strobe_function_tree_child(c->tree, c->tick_node, STROBE_NAME_KERNEL);
    emit_now(c, node, (uint64_t)(c->kernel_ns - most_ns));
    c->kernel_ns = most_ns;
}

static uint64_t total_wanted(const struct strobe_cpu_shares *c)
{
    uint64_t ns = 0;
    for (uint32_t i = 0; i < c->waiting_call_count; i++)
        ns += c->waiting_calls[i].ns;
    return ns;
}

/* Assigns time in the kernel to the short calls that wait for it. If there is not enough, each gets the same fraction
 * of the time that it waits for. */
static void assign_to_calls(struct strobe_cpu_shares *c)
{
    uint64_t wanted_ns = total_wanted(c), kept = 0;
    if (!wanted_ns || c->kernel_ns <= 0)
        return;
    double part = (uint64_t)c->kernel_ns < wanted_ns ? (double)c->kernel_ns / (double)wanted_ns : 1;
    for (uint32_t i = 0; i < c->waiting_call_count; i++) {
        uint64_t ns = (uint64_t)((double)c->waiting_calls[i].ns * part);
        emit_now(c, c->waiting_calls[i].node, ns);
        c->kernel_ns -= (int64_t)ns;
        c->waiting_calls[i].ns -= ns;
        if (part < 1)
            c->waiting_calls[kept++] = c->waiting_calls[i];
    }
    c->waiting_call_count = (uint32_t)kept;
}

/* Limits the total that short calls wait for. Time that they did not get was not time in the kernel. */
static void limit_wanted(struct strobe_cpu_shares *c, uint64_t most_ns)
{
    uint64_t wanted_ns = total_wanted(c);
    for (uint32_t i = 0; i < c->waiting_call_count && wanted_ns > most_ns; i++)
        c->waiting_calls[i].ns = (uint64_t)((double)c->waiting_calls[i].ns * (double)most_ns / (double)wanted_ns);
}

void strobe_cpu_shares_tick(struct strobe_cpu_shares *c, uint32_t node, uint32_t count, bool sparse)
{
    if (!c->interval_ns)
        return;
    uint64_t cpu_ns = c->since.cpu_ns - c->tick_cpu_ns, sparse_ns = STROBE_SPARSE_NS;
    sparse = sparse && cpu_ns >= (sparse_ns - sparse_ns / 4) * count;
    uint64_t mean_ns = sparse ? sparse_ns : c->interval_ns;
    int64_t most_ns = (int64_t)(WAITING_PERIODS * mean_ns);
    if (c->tick_node) {
        uint64_t user_ns = user_time_of_ticks(c, mean_ns, cpu_ns, count);
        int64_t kernel_ns = (int64_t)cpu_ns - (int64_t)c->call_ns - (int64_t)user_ns;
        kernel_ns -= (int64_t)((double)user_ns * c->engine_part);
        emit_now(c, node, user_ns);
        if (c->syscall_node && kernel_ns > 0) {
            emit_now(c, c->syscall_node, (uint64_t)kernel_ns);
            kernel_ns = 0;
        }
        c->kernel_ns += kernel_ns;
        if (c->kernel_ns < -most_ns)
            c->kernel_ns = -most_ns;
    } else {
        assign_early(c, node, UINT64_MAX);
    }
    c->tick_node = node;
    c->tick_sparse = sparse;
    assign_to_calls(c);
    limit_wanted(c, (uint64_t)most_ns);
    emit_kernel(c, most_ns);
    c->tick_cpu_ns = c->since.cpu_ns;
    c->call_ns = 0;
    c->syscall_node = 0;
}

void strobe_cpu_shares_stop(struct strobe_cpu_shares *c, uint32_t node)
{
    if (!c->tick_node && !c->in_call)
        assign_early(c, node, UINT64_MAX);
    if (c->tick_node && is_syscall_node(c, node))
        c->syscall_node = node;
}

void strobe_cpu_shares_call(struct strobe_cpu_shares *c, uint32_t node)
{
    uint32_t i = 0;
    if (!c->tick_node) {
        assign_early(c, node, c->interval_ns);
        return;
    }
    while (i < c->waiting_call_count && c->waiting_calls[i].node != node)
        i++;
    if (i == STROBE_CPU_SHARES_CALLS)
        return;
    if (i == c->waiting_call_count) {
        c->waiting_calls[i].node = node;
        c->waiting_calls[c->waiting_call_count++].ns = 0;
    }
    c->waiting_calls[i].ns += c->interval_ns;
    assign_to_calls(c);
}

/* The CPU time after the last tick counts as user time, up to one period of the clock. */
void strobe_cpu_shares_finish(struct strobe_cpu_shares *c)
{
    if (!c->tick_node) {
        assign_early(c, c->early_node, UINT64_MAX);
        return;
    }
    uint64_t cpu_ns = c->since.cpu_ns - c->tick_cpu_ns;
    cpu_ns = cpu_ns > c->call_ns ? cpu_ns - c->call_ns : 0;
    uint64_t user_ns = clamp_ns(cpu_ns, 0, c->tick_sparse ? STROBE_SPARSE_NS : c->interval_ns);
    emit_now(c, c->tick_node, user_ns);
    c->kernel_ns += (int64_t)(cpu_ns - user_ns);
    assign_to_calls(c);
    emit_kernel(c, 0);
}
