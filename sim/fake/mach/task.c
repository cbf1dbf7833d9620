/* Information about the task, from this machine's information about the process. */
#include "sim/fake/mach/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the process's own files, read without stdio */

static size_t read_proc_file(const char *path, char *text, size_t room)
{
    int saved = errno;
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    long got = fd < 0 ? 0 : syscall(SYS_read, fd, text, room - 1);
    if (fd >= 0)
        syscall(SYS_close, fd);
    errno = saved;
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

static uint64_t proc_number(const char *text)
{
    uint64_t n = 0;
    while (*text == ' ' || *text == '\t')
        text++;
    for (; *text >= '0' && *text <= '9'; text++)
        n = n * 10 + (uint64_t)(*text - '0');
    return n;
}

/* Returns a value of /proc/self/status in bytes; 0: there is no such line. */
static uint64_t status_bytes(const char *status, const char *key)
{
    const char *at = strstr(status, key);
    return at ? proc_number(at + strlen(key)) * 1024 : 0;
}

struct sizes {
    uint64_t all, peak_all, resident, peak, anonymous, file, swapped;
};

static struct sizes task_memory_sizes(void)
{
    char text[4096];
    read_proc_file("/proc/self/status", text, sizeof text);
    return (struct sizes){status_bytes(text, "\nVmSize:"),  status_bytes(text, "\nVmPeak:"),
                          status_bytes(text, "\nVmRSS:"),   status_bytes(text, "\nVmHWM:"),
                          status_bytes(text, "\nRssAnon:"), status_bytes(text, "\nRssFile:"),
                          status_bytes(text, "\nVmSwap:")};
}

static uint64_t living_cpu_ns(void)
{
    static uint64_t ids[1 << 14];
    uint64_t sum = 0;
    fake_on->lock();
    uint32_t n = fake_on->threads(ids, sizeof ids / sizeof *ids);
    for (uint32_t i = 0; i < n; i++)
        sum += fake_on->cpu_ns(ids[i]);
    fake_on->unlock();
    return sum;
}

/* ---- flavors */

static void fill_basic_info(struct mach_task_basic_info *out)
{
    struct sizes s = task_memory_sizes();
    uint64_t living = living_cpu_ns(), all = fake_on->process_cpu_ns();
    *out = (struct mach_task_basic_info){.virtual_size = s.all,
                                         .resident_size = s.resident,
                                         .resident_size_max = s.peak,
                                         .user_time = fake_time_value(all > living ? all - living : 0),
                                         .policy = FAKE_POLICY_TIMESHARE};
}

static void fill_vm_info(struct task_vm_info *out)
{
    struct sizes s = task_memory_sizes();
    *out = (struct task_vm_info){.virtual_size = s.all,
                                 .page_size = (integer_t)sysconf(_SC_PAGESIZE),
                                 .resident_size = s.resident,
                                 .resident_size_peak = s.peak,
                                 .internal = s.anonymous,
                                 .external = s.file,
                                 .compressed = s.swapped,
                                 .phys_footprint = s.anonymous + s.swapped};
}

static void fill_events_info(struct task_events_info *out)
{
    uint64_t calls = fake_mach_calls(NULL);
    *out = (struct task_events_info){.syscalls_mach = calls < INT32_MAX ? (integer_t)calls : INT32_MAX};
}

static kern_return_t task_report(task_flavor_t flavor, task_info_t out, mach_msg_type_number_t *count)
{
    union {
        struct mach_task_basic_info basic;
        struct task_thread_times_info times;
        struct task_vm_info vm;
        struct task_events_info events;
    } info;
    mach_msg_type_number_t needs = flavor == MACH_TASK_BASIC_INFO     ? MACH_TASK_BASIC_INFO_COUNT
                                   : flavor == TASK_THREAD_TIMES_INFO ? TASK_THREAD_TIMES_INFO_COUNT
                                   : flavor == TASK_VM_INFO           ? TASK_VM_INFO_REV1_COUNT
                                   : flavor == TASK_EVENTS_INFO       ? TASK_EVENTS_INFO_COUNT
                                                                      : 0;
    if (needs == 0 || *count < needs)
        return KERN_INVALID_ARGUMENT;
    if (flavor == MACH_TASK_BASIC_INFO)
        fill_basic_info(&info.basic);
    else if (flavor == TASK_VM_INFO)
        fill_vm_info(&info.vm);
    else if (flavor == TASK_EVENTS_INFO)
        fill_events_info(&info.events);
    else
        info.times = (struct task_thread_times_info){.user_time = fake_time_value(living_cpu_ns())};
    memcpy(out, &info, needs * sizeof(natural_t));
    *count = needs;
    return KERN_SUCCESS;
}

kern_return_t task_info(task_t task, task_flavor_t flavor, task_info_t out, mach_msg_type_number_t *count)
{
    static struct fake_call call = {.name = "task_info"};
    kern_return_t answer = fake_kernel_enter(&call);
    if (answer == KERN_SUCCESS)
        answer = fake_task_answers(task, KERN_INVALID_ARGUMENT);
    if (answer == KERN_SUCCESS)
        answer = task_report(flavor, out, count);
    return fake_kernel_leave(answer);
}
