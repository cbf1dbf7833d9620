#include "engine/backend/linux/attach/attach.h"

#include "engine/backend/common/libc/channels.h"
#include "engine/backend/linux/attach/leave.h"
#include "engine/backend/linux/attach/slots.h"
#include "engine/backend/linux/cpu_clock.h"
#include "engine/backend/linux/preload/hook.h"
#include "engine/backend/linux/preload/own_threads.h"
#include "engine/backend/linux/preload/preload.h"
#include "engine/backend/linux/preload/signals.h"
#include "engine/backend/linux/preload/stack_map.h"
#include "engine/backend/linux/unwind_images.h"
#include "engine/base/error_format.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/close_range.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Two threads: the sampler first, then the helper. */
enum { STACK_BYTES = 256 * 1024, STACKS = 2, SWITCH_BYTES = 4096, CHECK_NS = 10 * 1000 * 1000 };

/* The helper ends within a step of strobe_attach_end, unless the machine is busy. */
enum { END_NS = 200 * 1000, END_STEPS = 5000 };

int (*strobe_attach_dlclose)(void *handle);

static struct strobe_attach_state state;
static char session_path[PATH_MAX];
static char *stacks;
static strobe_a32 ending; /* 1: strobe_attach_end waits for the helper's end */

static void sleep_ns(long ns)
{
    struct timespec t = {0, ns};
    syscall(SYS_nanosleep, &t, NULL);
}

static void set_stage(enum strobe_attach_stage stage)
{
    strobe_store_release(&state.stage, stage);
}

/* ---- begin ---- */

__attribute__((visibility("default"))) struct strobe_attach_state *strobe_attach_begin(const char *path, void *handle)
{
    size_t length = strlen(path);
    if (length >= sizeof session_path)
        return NULL;
    memcpy(session_path, path, length + 1);
    state.handle = (uint64_t)(uintptr_t)handle;
    state.end = (uint64_t)(uintptr_t)strobe_attach_end;
    strobe_real_is_attached();
    strobe_real();
    strobe_linux_find_clock();
    strobe_preload.attached = true;
    *(void **)&strobe_attach_dlclose = dlsym(RTLD_DEFAULT, "dlclose");
    stacks = mmap(NULL, STACKS * STACK_BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED || !strobe_attach_dlclose)
        return NULL;
    strobe_own_threads_use_stacks(stacks, STACK_BYTES);
    bool sampler = strobe_preload_prepare_sampler();
    if (strobe_own_thread_start_helper(strobe_attach_thread))
        return &state;
    if (sampler)
        strobe_own_threads_stop();
    munmap(stacks, STACKS * STACK_BYTES);
    return NULL;
}

/* ---- the capture ---- */

/* Opens the session file for its lock, in a descriptor table of the helper's own. */
static int open_lock_file(void)
{
    if (syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE) != 0)
        return -1;
    return (int)syscall(SYS_openat, AT_FDCWD, session_path, O_RDWR | O_CLOEXEC, 0);
}

static bool start_attached_capture(int fd)
{
    struct strobe_session session;
    if (fd < 0) {
        strobe_error_set(&state.error, "the program cannot open %s: %s", session_path, strerror(errno));
        return false;
    }
    enum strobe_status status = strobe_session_attach(session_path, (uint32_t)syscall(SYS_getpid), &session);
    if (status != STROBE_OK) {
        strobe_error_set(&state.error, "the program cannot use %s: %s", session_path, strobe_status_text(status));
        return false;
    }
    strobe_stack_map_update(&strobe_process_stacks, strobe_linux_visit_maps);
    strobe_channel_find_open();
    strobe_attach_slots_begin(); /* before the sampler polls threads, see late_threads.h */
    if (!strobe_preload_start_late(&session, session_path, false)) {
        strobe_error_set(&state.error, "there is no memory for the engine");
        return false;
    }
    return true;
}

/* Returns true when the command has ended. */
static bool is_released(int fd)
{
    return syscall(SYS_flock, fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

static void wait_for_stop(int fd)
{
    while (!strobe_load_acquire(&state.stop) && !is_released(fd) && !strobe_own_threads_alone()) {
        strobe_attach_slots_renew();
        sleep_ns(CHECK_NS);
    }
}

/* ---- leaving ---- */

static int find_own_span(struct dl_phdr_info *info, size_t bytes, void *span)
{
    uint64_t low = UINT64_MAX, high = 0, here = (uint64_t)(uintptr_t)&find_own_span, *out = span;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD)
            continue;
        low = at < low ? at : low;
        high = at + p->p_memsz > high ? at + p->p_memsz : high;
    }
    out[0] = low;
    out[1] = high;
    return here >= low && here < high;
}

/* The hooks read the switch until the library is left, so it leads to a word of the library from here on. */
static void release_switch(void)
{
    static strobe_a32 off;
    strobe_a32 *page = strobe_switch;
    strobe_switch = &off;
    munmap(page, SWITCH_BYTES);
}

static void release_memory(void)
{
    struct strobe_preload *p = &strobe_preload;
    if (!p->started)
        return;
    uint32_t threads_max = p->engine->config.threads_max;
    release_switch();
    p->started = false;
    munmap(p->engine->blocking, strobe_engine_memory_bytes(&p->engine->config));
    strobe_session_unmap(&p->engine->session);
    strobe_linux_clocks_release(threads_max);
    strobe_unwind_images_release();
}

static void end_attached_capture(void)
{
    strobe_attach_slots_end();
    strobe_preload_close();
    strobe_own_threads_stop();
    strobe_signals_restore();
}

/* Returns true when strobe_attach_end asks for the helper's end, false when the command has ended. */
static bool wait_for_end_request(int fd)
{
    while (!strobe_load_acquire(&ending)) {
        if (is_released(fd))
            return false;
        sleep_ns(END_NS);
    }
    return true;
}

/* Waits on a thread of the program that was stopped in a system call. A sleep by nanosleep would replace what the
 * kernel has stored for the restart of that call (its restart block); pselect does not use it. */
static void rest_as_guest(long ns)
{
    struct timespec t = {0, ns};
    syscall(SYS_pselect6, 0l, NULL, NULL, NULL, &t, NULL);
}

uint64_t strobe_attach_end(void)
{
    long pid = syscall(SYS_getpid), tid = (long)strobe_load_acquire(&state.tid);
    strobe_store_release(&ending, 1);
    for (int i = 0; i < END_STEPS; i++) {
        if (syscall(SYS_tgkill, pid, tid, 0l) != 0 && errno == ESRCH)
            return munmap(stacks + STACK_BYTES, STACK_BYTES) == 0;
        rest_as_guest(END_NS);
    }
    return 0;
}

void *strobe_attach_run(void)
{
    uint64_t span[2] = {0, UINT64_MAX};
    strobe_own_thread_begin_lasting();
    prctl(PR_SET_NAME, "strobe-attach");
    strobe_store_release(&state.tid, (uint32_t)syscall(SYS_gettid));
    dl_iterate_phdr(find_own_span, span);
    int fd = open_lock_file();
    bool started = start_attached_capture(fd);
    set_stage(started ? STROBE_ATTACH_RUNNING : STROBE_ATTACH_FAILED);
    wait_for_stop(fd);
    if (started)
        set_stage(STROBE_ATTACH_LEAVING);
    end_attached_capture();
    bool left = strobe_leave_wait(span[0], span[1]);
    strobe_own_thread_end_lasting();
    if (!left)
        return NULL;
    release_memory();
    munmap(stacks, STACK_BYTES);
    set_stage(STROBE_ATTACH_LEFT);
    return wait_for_end_request(fd) ? NULL : (void *)(uintptr_t)state.handle;
}
