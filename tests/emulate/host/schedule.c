#include "tests/emulate/host/kernel.h"

#include <stdio.h>

enum {
    LONG_SLICE = 400,
    SHORT_SLICE = 12, /* instructions; half of the slices are short */
    LINGERS_ONE_IN = 8,
    LINGER_NS = 4000, /* upper bound of the time of a call that takes time */
    SYSTEM_CALL = 2,  /* the processor's number of the exception of svc */
    GUEST_TIMEDOUT = 60,
    ONE_SLICE = 1 << 20,
};

/* ---- exceptions of the processor */

static void on_instruction(uc_engine *uc, uint64_t pc, uint32_t bytes, void *context)
{
    (void)bytes;
    struct kernel *k = context;
    if (!k->budget || k->over) {
        uc_emu_stop(uc);
        return;
    }
    struct thread *t = k->current;
    if (t->holds && k->guard && guard_forbids(k, pc)) {
        uint64_t offset;
        const struct image_symbol *s = image_symbol_of(&k->images, pc, &offset);
        kernel_end(k, RUN_FORBIDDEN, "FORBIDDEN %s, while another thread is suspended", s ? s->name : "?");
        return;
    }
    k->budget--;
    if (k->observer && k->observer->instruction)
        k->observer->instruction(k, t, pc);
}

static bool may_linger(uint64_t call)
{
    return call != CALL_ULOCK_WAIT && call != CALL_ULOCK_WAKE && call != CALL_WAIT_UNTIL && call != CALL_EXIT &&
           call != CALL_ABSOLUTE_TIME;
}

static void on_exception(uc_engine *uc, uint32_t what, void *context)
{
    struct kernel *k = context;
    struct thread *t = k->current;
    uint64_t answer;
    if (what != SYSTEM_CALL) {
        kernel_end(k, RUN_BROKEN, "exception %u at %#llx", what,
                   (unsigned long long)machine_register(&k->machine, UC_ARM64_REG_PC));
        return;
    }
    t->call.number = machine_register(&k->machine, UC_ARM64_REG_X16);
    for (int i = 0; i < 8; i++)
        t->call.a[i] = machine_register(&k->machine, UC_ARM64_REG_X0 + i);
    if (may_linger(t->call.number) && !kernel_draw(k, LINGERS_ONE_IN)) {
        t->state = THREAD_KERNEL;
        t->kernel_until_ns = kernel_now(k) + kernel_draw(k, LINGER_NS);
        uc_emu_stop(uc);
        return;
    }
    if (!calls_perform(k, t, &t->call, &answer) || t->suspends)
        uc_emu_stop(uc);
    if (t->state == THREAD_RUNS)
        machine_set_register(&k->machine, UC_ARM64_REG_X0, answer);
}

static bool on_fault(uc_engine *uc, uc_mem_type type, uint64_t address, int bytes, int64_t value, void *context)
{
    (void)uc, (void)value;
    struct kernel *k = context;
    bool writes = type == UC_MEM_WRITE_UNMAPPED || type == UC_MEM_WRITE_PROT;
    kernel_end(k, RUN_BROKEN, "thread %llu faults at %#llx (%s of %d bytes)", (unsigned long long)k->current->id,
               (unsigned long long)address, writes ? "write" : "read", bytes);
    return false;
}

/* ---- time */

/* Performs what is due by now. */
static void come_due(struct kernel *k)
{
    for (size_t i = 0; i < k->thread_count && !k->over; i++) {
        struct thread *t = k->threads[i];
        uint64_t answer;
        if (t->state == THREAD_KERNEL && t->kernel_until_ns <= k->now_ns) {
            t->state = THREAD_RUNS;
            if (calls_perform(k, t, &t->call, &answer) && t->state == THREAD_RUNS)
                kernel_set_register(k, t, UC_ARM64_REG_X0, answer);
        } else if (t->state == THREAD_ENDING && t->kernel_until_ns <= k->now_ns) {
            kernel_retire_thread(k, t);
            i--;
        } else if (t->state == THREAD_WAITS && t->wait_until_ns <= k->now_ns) {
            t->state = THREAD_RUNS;
            kernel_set_register(k, t, UC_ARM64_REG_X0, t->wait_word ? (uint64_t)-GUEST_TIMEDOUT : 0);
            t->wait_word = 0;
            t->wait_owner = 0;
            t->wait_until_ns = NEVER;
        }
    }
}

/* Moves time to the next event. A thread that is held back is charged for this time. Returns false when nothing will
 * ever be due. */
static bool pass_time(struct kernel *k)
{
    uint64_t next = NEVER;
    for (size_t i = 0; i < k->thread_count; i++) {
        const struct thread *t = k->threads[i];
        uint64_t due = t->state == THREAD_KERNEL || t->state == THREAD_ENDING ? t->kernel_until_ns
                       : t->state == THREAD_WAITS                             ? t->wait_until_ns
                                                                              : NEVER;
        next = due < next ? due : next;
    }
    if (next == NEVER)
        return false;
    uint64_t gone = next > k->now_ns ? next - k->now_ns : 0;
    for (size_t i = 0; i < k->thread_count; i++)
        if (k->threads[i]->state == THREAD_RUNS && !k->threads[i]->suspends)
            k->threads[i]->cpu_ns += gone;
    k->now_ns += gone;
    return true;
}

/* ---- slices */

static uint64_t allowed(struct kernel *k, const struct thread *t)
{
    if (t->state != THREAD_RUNS || t->suspends)
        return 0;
    return k->observer && k->observer->allows ? k->observer->allows(k, t) : ONE_SLICE;
}

/* Returns a thread that can run; NULL: none can. */
static struct thread *pick(struct kernel *k, uint64_t *most)
{
    struct thread *ready[THREADS_MAX];
    uint64_t limits[THREADS_MAX], count = 0;
    for (size_t i = 0; i < k->thread_count; i++)
        if ((limits[count] = allowed(k, k->threads[i])) != 0)
            ready[count++] = k->threads[i];
    if (!count)
        return NULL;
    uint64_t which = count > 1 ? kernel_draw(k, count) : 0;
    k->side_by_side = count;
    *most = limits[which];
    return ready[which];
}

static void run_slice(struct kernel *k, struct thread *t, uint64_t most)
{
    uint64_t length = 1 + kernel_draw(k, kernel_draw(k, 2) ? SHORT_SLICE : LONG_SLICE);
    k->budget = k->drawn = length < most ? length : most;
    uc_context_restore(k->machine.uc, t->context);
    k->current = t;
    uc_err error = uc_emu_start(k->machine.uc, machine_register(&k->machine, UC_ARM64_REG_PC), NEVER, 0, 0);
    if (error && !k->over)
        kernel_end(k, RUN_BROKEN, "thread %llu: %s", (unsigned long long)t->id, uc_strerror(error));
    uint64_t now = kernel_now(k);
    t->cpu_ns = kernel_cpu(k, t);
    k->instructions += k->drawn - k->budget;
    uc_context_save(k->machine.uc, t->context);
    k->current = NULL;
    k->now_ns = now;
    k->budget = k->drawn = 0;
}

static void stuck(struct kernel *k)
{
    for (size_t i = 0; i < k->thread_count; i++) {
        const struct thread *t = k->threads[i];
        fprintf(stderr, "thread %llu \"%s\": state %d, %u suspensions, waits for the word at %#llx\n",
                (unsigned long long)t->id, t->name, (int)t->state, t->suspends, (unsigned long long)t->wait_word);
        guard_print_stack(k, t);
    }
    kernel_end(k, RUN_BROKEN, "these can't go on, or have not ended in time");
}

void schedule_run(struct kernel *k)
{
    uc_engine *uc = k->machine.uc;
    uc_hook hooks[3];
    uc_hook_add(uc, &hooks[0], UC_HOOK_CODE, (void *)on_instruction, k, (uint64_t)1, (uint64_t)0);
    uc_hook_add(uc, &hooks[1], UC_HOOK_INTR, (void *)on_exception, k, (uint64_t)1, (uint64_t)0);
    uc_hook_add(uc, &hooks[2], UC_HOOK_MEM_INVALID, (void *)on_fault, k, (uint64_t)1, (uint64_t)0);
    while (!k->over) {
        uint64_t most = 0;
        come_due(k);
        struct thread *t = k->over ? NULL : pick(k, &most);
        if (t)
            run_slice(k, t, most);
        else if (!k->over && (!pass_time(k) || k->now_ns > k->until_ns))
            stuck(k);
    }
}
