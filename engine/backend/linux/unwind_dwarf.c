#include "engine/backend/linux/unwind_dwarf.h"

#include <dlfcn.h>
#include <string.h>
#include <libunwind.h>

/* The generic library's names carry its target; the header maps the plain ones to them. */
#define TEXT(x) #x
#define NAME(x) TEXT(x)
#if defined(__x86_64__)
#define GENERIC_LIBRARY "libunwind-x86_64.so.8"
#elif defined(__aarch64__)
#define GENERIC_LIBRARY "libunwind-aarch64.so.8"
#else
#error "libunwind's name for this machine is not known"
#endif

static struct {
    int (*backtrace)(void **, int);
    unw_addr_space_t (*create)(unw_accessors_t *, int);
    int (*set_caching)(unw_addr_space_t, unw_caching_policy_t);
    int (*init)(unw_cursor_t *, unw_addr_space_t, void *);
    int (*step)(unw_cursor_t *);
    int (*get_reg)(unw_cursor_t *, unw_regnum_t, unw_word_t *);
    unw_accessors_t local;
    unw_addr_space_t space;
} lib;

/* ---- own stack ---- */

enum { OWN_FRAMES_MAX = 16 };   /* frames of the engine above the hook, at most */

static enum strobe_walk_end walk_self(uint64_t frame, uint64_t caller, const struct strobe_window *stack,
                                      uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    void *found[STROBE_STACK_DEPTH_MAX + OWN_FRAMES_MAX];
    int limit = (int)(max + OWN_FRAMES_MAX);
    int n = lib.backtrace(found, limit), first = 0;
    (void)frame, (void)stack;
    while (first < n && (uint64_t)(uintptr_t)found[first] != caller)
        first++;
    *count = 0;
    if (first == n) {
        frames_end[-1] = caller;
        *count = 1;
        return STROBE_WALK_DOUBTFUL;
    }
    for (int i = first; i < n && *count < max; i++)
        frames_end[-(ptrdiff_t)++*count] = (uint64_t)(uintptr_t)found[i];
    return n - first > (int)max || n == limit ? STROBE_WALK_CUT : STROBE_WALK_ROOT;
}

/* ---- a stopped thread's copy ---- */

struct copied {
    const struct strobe_host *host;
    const struct strobe_regs *regs;
    const struct strobe_window *stack;
};

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info, int need, void *arg)
{
    return lib.local.find_proc_info(space, ip, info, need, arg);
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *arg)
{
    lib.local.put_unwind_info(space, info, arg);
}

static int no_dynamic_code(unw_addr_space_t space, unw_word_t *list, void *arg)
{
    (void)space, (void)list, (void)arg;
    return -UNW_ENOINFO;
}

/* Stack words come from the copy; tables and code from our own memory, safely, since a library may go any time. */
static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write, void *arg)
{
    const struct copied *c = arg;
    size_t got;
    (void)space;
    if (write)
        return -UNW_EREADONLYREG;
    if (address >= c->stack->low && address < c->stack->high) {
        if (c->stack->high - address < sizeof *value)
            return -UNW_EINVAL;
        memcpy(value, (const void *)(uintptr_t)(address + c->stack->bias), sizeof *value);
        return 0;
    }
    bool whole = c->host->read(c->host->ctx, address, value, sizeof *value, &got) == STROBE_OK && got == sizeof *value;
    return whole ? 0 : -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t reg, unw_word_t *value, int write, void *arg)
{
    const struct copied *c = arg;
    (void)space;
    if (write || reg < 0 || reg >= STROBE_REGS_GENERAL)
        return -UNW_EBADREG;
    *value = c->regs->general[reg];
    return 0;
}

static int no_fpreg(unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *value, int write, void *arg)
{
    (void)space, (void)reg, (void)value, (void)write, (void)arg;
    return -UNW_EBADREG;
}

static int no_resume(unw_addr_space_t space, unw_cursor_t *cursor, void *arg)
{
    (void)space, (void)cursor, (void)arg;
    return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t space, unw_word_t ip, char *out, size_t bytes, unw_word_t *offset, void *arg)
{
    (void)space, (void)ip, (void)out, (void)bytes, (void)offset, (void)arg;
    return -UNW_ENOINFO;
}

static enum strobe_walk_end walk_copied(const struct strobe_host *host, const struct strobe_regs *regs,
                                        const struct strobe_window *stack, uint64_t *frames_end, uint32_t max,
                                        uint32_t *count)
{
    struct copied c = {host, regs, stack};
    unw_cursor_t cursor;
    unw_word_t ip;
    frames_end[-1] = regs->pc + 1;   /* reads as a return address, as all frames do */
    *count = 1;
    if (lib.init(&cursor, lib.space, &c) < 0)
        return STROBE_WALK_DOUBTFUL;
    for (;;) {
        int more = lib.step(&cursor);
        if (more <= 0)
            return more == 0 ? STROBE_WALK_ROOT : STROBE_WALK_DOUBTFUL;
        if (lib.get_reg(&cursor, UNW_REG_IP, &ip) < 0 || ip == 0)
            return STROBE_WALK_ROOT;
        if (*count == max)
            return STROBE_WALK_CUT;
        frames_end[-(ptrdiff_t)++*count] = ip;
    }
}

/* ---- start ---- */

static bool load(void)
{
    void *generic = dlopen(GENERIC_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *local = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    if (!generic || !local)
        return false;
    unw_accessors_t *(*accessors)(unw_addr_space_t);
    unw_addr_space_t *own_space;
    *(void **)&lib.backtrace = dlsym(local, "unw_backtrace");
    *(void **)&lib.create = dlsym(generic, NAME(unw_create_addr_space));
    *(void **)&lib.set_caching = dlsym(generic, NAME(unw_set_caching_policy));
    *(void **)&lib.init = dlsym(generic, NAME(unw_init_remote));
    *(void **)&lib.step = dlsym(generic, NAME(unw_step));
    *(void **)&lib.get_reg = dlsym(generic, NAME(unw_get_reg));
    *(void **)&accessors = dlsym(generic, NAME(unw_get_accessors));
    own_space = dlsym(generic, NAME(unw_local_addr_space));
    if (!lib.backtrace || !lib.create || !lib.set_caching || !lib.init || !lib.step || !lib.get_reg || !accessors ||
        !own_space)
        return false;
    lib.local = *accessors(*own_space);
    static unw_accessors_t over_copy = {find_proc_info, put_unwind_info, no_dynamic_code, access_mem,
                                        access_reg,     no_fpreg,        no_resume,       no_name};
    lib.space = lib.create(&over_copy, 0);
    if (!lib.space)
        return false;
    lib.set_caching(lib.space, UNW_CACHE_GLOBAL);
    return true;
}

const struct strobe_unwinder *strobe_linux_unwinder_dwarf(void)
{
    static const struct strobe_unwinder dwarf = {.self = walk_self, .copied = walk_copied};
    return load() ? &dwarf : NULL;
}
