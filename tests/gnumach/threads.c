#include "tests/gnumach/task.h"

/* Each slot has its stack. The position of the stack pointer identifies the thread. */
static _Alignas(TASK_STACK) char stacks[TASK_THREADS][TASK_STACK];
static thread_act_t ports[TASK_THREADS];

int thread_switch(mach_port_t to, int option, mach_msg_timeout_t ms);
enum { SWITCH_WAIT = 2 };

bool thread_stack(uintptr_t address, uintptr_t *low, uintptr_t *high)
{
    uintptr_t offset = address - (uintptr_t)stacks;
    if (offset >= sizeof stacks)
        return false;
    *low = (uintptr_t)stacks + (offset & ~(uintptr_t)(TASK_STACK - 1));
    *high = *low + TASK_STACK;
    return true;
}

unsigned thread_slot(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), low, high;
    return thread_stack(here, &low, &high) ? (unsigned)((low - (uintptr_t)stacks) / TASK_STACK) : TASK_THREADS;
}

/* The outermost function of each thread. */
static void begin(void (*f)(void *), void *arg)
{
    f(arg);
    for (;;)
        thread_terminate(ports[thread_slot()]);
}

/* Makes the first frame as if `begin` had been called without a caller. */
static uint32_t *first_frame(unsigned slot, void (*f)(void *), void *arg)
{
    uint32_t *sp = (uint32_t *)(stacks[slot] + TASK_STACK - 32); /* aligned to 16 where the arguments begin */
    sp[0] = (uint32_t)f;
    sp[1] = (uint32_t)arg;
    *--sp = 0;
    return sp;
}

thread_act_t thread_start(unsigned slot, void (*f)(void *), void *arg)
{
    struct i386_thread_state regs;
    mach_msg_type_number_t count = i386_THREAD_STATE_COUNT;
    thread_act_t port;
    if (slot >= TASK_THREADS || thread_create(mach_task_self(), &port) != KERN_SUCCESS)
        return MACH_PORT_NULL;
    if (thread_get_state(port, i386_THREAD_STATE, (thread_state_t)&regs, &count) == KERN_SUCCESS) {
        regs.eip = (uint32_t)begin;
        regs.uesp = (uint32_t)first_frame(slot, f, arg);
        regs.ebp = 0;
        ports[slot] = port;
        if (thread_set_state(port, i386_THREAD_STATE, (thread_state_t)&regs, count) == KERN_SUCCESS &&
            thread_resume(port) == KERN_SUCCESS)
            return port;
    }
    thread_terminate(port);
    mach_port_deallocate(mach_task_self(), port);
    return MACH_PORT_NULL;
}

void thread_join(unsigned slot)
{
    while (thread_resume(ports[slot]) != MACH_SEND_INVALID_DEST)
        thread_pass(1);
    mach_port_deallocate(mach_task_self(), ports[slot]);
    task_drop_reply_port(slot);
}

void thread_pass(unsigned ms)
{
    uint64_t deadline = mach_absolute_time() + clock_ticks(ms);
    do
        thread_switch(MACH_PORT_NULL, SWITCH_WAIT, ms); /* may be shorter by up to a tick of the kernel's clock */
    while (mach_absolute_time() < deadline);
}
