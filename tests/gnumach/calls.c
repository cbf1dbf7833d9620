#include "tests/gnumach/task.h"

#include <mig/mach_host.h>

#include <string.h>
#include <time.h>

#undef thread_info

static vm_address_t page_of(vm_address_t address)
{
    return address & ~(vm_address_t)(TASK_PAGE - 1);
}

kern_return_t vm_read_overwrite(task_t task, vm_address_t address, vm_size_t bytes, vm_address_t out,
                                vm_size_t *out_bytes)
{
    pointer_t copy;
    mach_msg_type_number_t copied;
    if (bytes == 0 || address + bytes - 1 < address)
        return bytes ? KERN_INVALID_ADDRESS : KERN_SUCCESS;
    vm_address_t from = page_of(address);
    kern_return_t kr = vm_read(task, from, page_of(address + bytes - 1) - from + TASK_PAGE, &copy, &copied);
    if (kr != KERN_SUCCESS)
        return kr;
    memcpy((void *)out, (const char *)copy + (address - from), bytes);
    *out_bytes = bytes;
    return vm_deallocate(mach_task_self(), copy, copied);
}

/* ---- threads ---- */

static kern_return_t identifier(thread_act_t thread, struct thread_identifier_info *out)
{
    enum { NAMES = 1024 }; /* more than the names of this task */
    struct thread_basic_info basic;
    mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
    kern_return_t kr = thread_info(thread, THREAD_BASIC_INFO, (thread_info_t)&basic, &count);
    if (kr != KERN_SUCCESS)
        return kr;
    uint64_t made_us =
        (uint64_t)(uint32_t)basic.creation_time.seconds * 1000000 + (uint32_t)basic.creation_time.microseconds;
    *out = (struct thread_identifier_info){.thread_id = made_us * NAMES + thread};
    return KERN_SUCCESS;
}

kern_return_t gnumach_thread_info(thread_act_t thread, thread_flavor_t flavor, thread_info_t out,
                                  mach_msg_type_number_t *count)
{
    if (flavor != THREAD_IDENTIFIER_INFO)
        return thread_info(thread, (int)flavor, out, count);
    if (*count < THREAD_IDENTIFIER_INFO_COUNT)
        return KERN_INVALID_ARGUMENT;
    *count = THREAD_IDENTIFIER_INFO_COUNT;
    return identifier(thread, (struct thread_identifier_info *)out);
}

/* ---- time ---- */

static uint32_t ticks_per_ms = 1;

uint64_t clock_ticks(unsigned ms)
{
    return (uint64_t)ms * ticks_per_ms;
}

uint64_t mach_absolute_time(void)
{
    return __builtin_ia32_rdtsc();
}

kern_return_t mach_timebase_info(mach_timebase_info_t out)
{
    *out = (struct mach_timebase_info){.numer = 1000000, .denom = ticks_per_ms};
    return KERN_SUCCESS;
}

static uint32_t host_us(mach_port_t host)
{
    time_value_t now = {0, 0};
    host_get_time(host, &now);
    return (uint32_t)now.seconds * 1000000u + (uint32_t)now.microseconds;
}

void clock_begin(mach_port_t host)
{
    enum { SPAN_MS = 100 };
    thread_pass(1); /* to the next clock tick: the host measures time in ticks */
    uint32_t us = host_us(host);
    uint64_t ticks = mach_absolute_time();
    thread_pass(SPAN_MS);
    uint32_t ms = (host_us(host) - us + 500) / 1000;
    ticks_per_ms = (uint32_t)(mach_absolute_time() - ticks) / (ms ? ms : SPAN_MS);
}

kern_return_t mach_wait_until(uint64_t deadline)
{
    uint64_t now;
    while ((now = mach_absolute_time()) < deadline) {
        uint64_t left = deadline - now;
        thread_pass(left >> 32 ? 1000 : (uint32_t)left / ticks_per_ms + 1);
    }
    return KERN_SUCCESS;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    struct thread_basic_info info;
    mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
    if (clock != CLOCK_THREAD_CPUTIME_ID)
        return -1;
    thread_act_t self = mach_thread_self();
    kern_return_t kr = thread_info(self, THREAD_BASIC_INFO, (thread_info_t)&info, &count);
    mach_port_deallocate(mach_task_self(), self);
    if (kr != KERN_SUCCESS)
        return -1;
    long us = (long)info.user_time.microseconds + (long)info.system_time.microseconds;
    out->tv_sec = (long)info.user_time.seconds + (long)info.system_time.seconds + us / 1000000;
    out->tv_nsec = us % 1000000 * 1000;
    return 0;
}
