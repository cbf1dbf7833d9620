/* Mach calls on threads and ports, by the rules of tests/contract_mach. */
#include "tests/emulate/host/kernel.h"

#include <string.h>

/* Returns the live thread of a name; otherwise NULL, and the answer of the call. */
static struct thread *thread_of(struct kernel *k, uint64_t name, uint64_t *answer)
{
    const struct port *p = kernel_port(k, (mach_port_name_t)name);
    *answer = MACH_SEND_INVALID_DEST;
    if (!p || p->kind == PORT_DEAD)
        return NULL;
    *answer = KERN_INVALID_ARGUMENT;
    if (p->kind != PORT_THREAD)
        return NULL;
    *answer = KERN_TERMINATED;
    return p->thread->state < THREAD_ENDING || p->thread->state == THREAD_KILLED ? p->thread : NULL;
}

static bool is_task(struct kernel *k, uint64_t name)
{
    const struct port *p = kernel_port(k, (mach_port_name_t)name);
    return p && p->kind == PORT_TASK;
}

static void notify_observer(struct kernel *k, uint64_t call, struct thread *by, struct thread *of)
{
    if (k->observer && k->observer->called)
        k->observer->called(k, (enum emulated_call)call, by, of);
}

static uint64_t suspend(struct kernel *k, struct thread *t, const struct call *c)
{
    uint64_t answer;
    struct thread *of = thread_of(k, c->a[0], &answer);
    if (!of)
        return answer;
    of->suspends++;
    of->suspender = t;
    if (of != t)
        t->holds++;
    notify_observer(k, c->number, t, of);
    return KERN_SUCCESS;
}

static uint64_t resume(struct kernel *k, struct thread *t, const struct call *c)
{
    uint64_t answer;
    struct thread *of = thread_of(k, c->a[0], &answer);
    if (!of)
        return answer;
    if (!of->suspends)
        return KERN_FAILURE;
    of->suspends--;
    struct thread *by = of->suspender ? of->suspender : t;
    if (by->holds)
        by->holds--;
    notify_observer(k, c->number, t, of);
    return KERN_SUCCESS;
}

/* Reads the capacity in an in-out count and stores `needed` in it. Returns false when the capacity is smaller. */
static bool enough(struct kernel *k, uint64_t at, uint32_t needed)
{
    uint32_t room;
    return machine_read(&k->machine, at, &room, sizeof room) && room >= needed &&
           machine_write(&k->machine, at, &needed, sizeof needed);
}

static uint64_t get_state(struct kernel *k, struct thread *t, const struct call *c)
{
    uint64_t answer;
    struct thread *of = thread_of(k, c->a[0], &answer);
    if (!of)
        return answer;
    if (c->a[1] != ARM_THREAD_STATE64 || !enough(k, c->a[3], ARM_THREAD_STATE64_COUNT))
        return KERN_INVALID_ARGUMENT;
    if (k->strict && (of == t || !of->suspends || of->state == THREAD_KERNEL))
        kernel_end(k, RUN_BROKEN, "thread_get_state of thread %llu, which has not stopped", (unsigned long long)of->id);
    arm_thread_state64_t s = {0};
    for (int x = 0; x < 29; x++)
        s.__x[x] = kernel_register(k, of, UC_ARM64_REG_X0 + x);
    s.__fp = kernel_register(k, of, UC_ARM64_REG_X29);
    s.__lr = kernel_register(k, of, UC_ARM64_REG_X30);
    s.__sp = kernel_register(k, of, UC_ARM64_REG_SP);
    s.__pc = kernel_register(k, of, UC_ARM64_REG_PC);
    if (!machine_write(&k->machine, c->a[2], &s, sizeof s))
        return KERN_INVALID_ADDRESS;
    of->looked_at += of != t;
    notify_observer(k, c->number, t, of);
    return KERN_SUCCESS;
}

static time_value_t time_of(uint64_t ns)
{
    return (time_value_t){(integer_t)(ns / 1000000000u), (integer_t)(ns % 1000000000u / 1000u)};
}

static uint64_t info(struct kernel *k, const struct call *c)
{
    uint64_t answer;
    const struct thread *of = thread_of(k, c->a[0], &answer);
    if (!of)
        return answer;
    uint64_t cpu = kernel_cpu(k, of);
    int state = kernel_run_state(of);
    if (c->a[1] == THREAD_BASIC_INFO && enough(k, c->a[3], THREAD_BASIC_INFO_COUNT)) {
        thread_basic_info_data_t b = {.user_time = time_of(cpu),
                                      .cpu_usage = state == TH_STATE_RUNNING ? 1000 : 0,
                                      .policy = 1,
                                      .run_state = state,
                                      .suspend_count = (integer_t)of->suspends};
        return machine_write(&k->machine, c->a[2], &b, sizeof b) ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
    }
    if (c->a[1] == THREAD_IDENTIFIER_INFO && enough(k, c->a[3], THREAD_IDENTIFIER_INFO_COUNT)) {
        thread_identifier_info_data_t i = {.thread_id = of->id, .thread_handle = of->pthread};
        return machine_write(&k->machine, c->a[2], &i, sizeof i) ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
    }
    if (c->a[1] == THREAD_EXTENDED_INFO && enough(k, c->a[3], THREAD_EXTENDED_INFO_COUNT)) {
        thread_extended_info_data_t e = {.pth_user_time = cpu, .pth_run_state = state};
        memcpy(e.pth_name, of->name, sizeof e.pth_name);
        return machine_write(&k->machine, c->a[2], &e, sizeof e) ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
    }
    return KERN_INVALID_ARGUMENT;
}

/* Returns an array in new pages with a port name, and a right, for each thread. */
static uint64_t task_threads_of(struct kernel *k, const struct call *c)
{
    if (!is_task(k, c->a[0]))
        return kernel_port(k, (mach_port_name_t)c->a[0]) ? KERN_INVALID_ARGUMENT : MACH_SEND_INVALID_DEST;
    uint64_t at = machine_room(&k->machine, MACHINE_PAGE);
    uint32_t count = (uint32_t)k->thread_count;
    if (!machine_map(&k->machine, at, MACHINE_PAGE, MACHINE_READ | MACHINE_WRITE))
        return KERN_RESOURCE_SHORTAGE;
    for (uint32_t i = 0; i < count; i++) {
        mach_port_name_t name = kernel_take_right(k, k->threads[i]);
        machine_write(&k->machine, at + i * sizeof name, &name, sizeof name);
    }
    bool kept = machine_write(&k->machine, c->a[1], &at, sizeof at) &&
                machine_write(&k->machine, c->a[2], &count, sizeof count);
    return kept ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
}

static uint64_t task_info_of(struct kernel *k, const struct call *c)
{
    if (!is_task(k, c->a[0]))
        return MACH_SEND_INVALID_DEST;
    uint64_t cpu = 0, mapped = 0;
    for (size_t i = 0; i < k->thread_count; i++)
        cpu += kernel_cpu(k, k->threads[i]);
    for (size_t i = 0; i < k->machine.count; i++)
        mapped += k->machine.regions[i].bytes;
    if (c->a[1] == MACH_TASK_BASIC_INFO && enough(k, c->a[3], MACH_TASK_BASIC_INFO_COUNT)) {
        mach_task_basic_info_data_t b = {.virtual_size = mapped, .resident_size = mapped, .resident_size_max = mapped};
        return machine_write(&k->machine, c->a[2], &b, sizeof b) ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
    }
    if (c->a[1] == TASK_THREAD_TIMES_INFO && enough(k, c->a[3], TASK_THREAD_TIMES_INFO_COUNT)) {
        task_thread_times_info_data_t i = {.user_time = time_of(cpu)};
        return machine_write(&k->machine, c->a[2], &i, sizeof i) ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
    }
    if (c->a[1] == TASK_VM_INFO && enough(k, c->a[3], TASK_VM_INFO_REV1_COUNT)) {
        struct task_vm_info v = {
            .virtual_size = mapped, .page_size = MACHINE_PAGE, .resident_size = mapped, .phys_footprint = mapped};
        uint64_t bytes = TASK_VM_INFO_REV1_COUNT * sizeof(natural_t);
        bytes = bytes < sizeof v ? bytes : sizeof v;
        return machine_write(&k->machine, c->a[2], &v, bytes) ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
    }
    return KERN_INVALID_ARGUMENT;
}

static uint64_t port_deallocate(struct kernel *k, const struct call *c)
{
    struct port *p = kernel_port(k, (mach_port_name_t)c->a[1]);
    if (!p)
        return KERN_INVALID_NAME;
    if (--p->refs == 0)
        p->kind = PORT_FREE;
    return KERN_SUCCESS;
}

static uint64_t port_get_refs(struct kernel *k, const struct call *c)
{
    const struct port *p = kernel_port(k, (mach_port_name_t)c->a[1]);
    if (!p)
        return KERN_INVALID_NAME;
    bool fits = c->a[2] == (p->kind == PORT_DEAD ? MACH_PORT_RIGHT_DEAD_NAME : MACH_PORT_RIGHT_SEND);
    uint32_t refs = fits ? p->refs : 0;
    return machine_write(&k->machine, c->a[3], &refs, sizeof refs) ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
}

static uint64_t policy_set(struct kernel *k, const struct call *c)
{
    uint64_t answer;
    if (!thread_of(k, c->a[0], &answer))
        return answer;
    bool known = c->a[1] == THREAD_TIME_CONSTRAINT_POLICY && c->a[3] >= THREAD_TIME_CONSTRAINT_POLICY_COUNT;
    return known ? KERN_SUCCESS : KERN_INVALID_ARGUMENT;
}

uint64_t threads_answer(struct kernel *k, struct thread *t, const struct call *c)
{
    switch (c->number) {
    case CALL_TASK_THREADS: return task_threads_of(k, c);
    case CALL_THREAD_SUSPEND: return suspend(k, t, c);
    case CALL_THREAD_RESUME: return resume(k, t, c);
    case CALL_THREAD_GET_STATE: return get_state(k, t, c);
    case CALL_THREAD_INFO: return info(k, c);
    case CALL_THREAD_POLICY_SET: return policy_set(k, c);
    case CALL_THREAD_SELF: return kernel_take_right(k, t);
    case CALL_TASK_SELF: return kernel_take_right(k, NULL);
    case CALL_PORT_DEALLOCATE: return port_deallocate(k, c);
    case CALL_PORT_GET_REFS: return port_get_refs(k, c);
    default: return task_info_of(k, c);
    }
}
