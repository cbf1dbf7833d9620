/* Files, sockets, sleeps and other waits of native code (libc.h). */
#include "engine/backend/art/hooks/libc.h"
#include "engine/backend/common/slots/slot_table.h"
#include "engine/base/error_format.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <string.h>

/* vfork is not hooked: what the child does to its descriptors counts as done by its parent. */
bool strobe_hook_in_vfork(void)
{
    return false;
}

#include "engine/backend/common/libc/descriptor_hooks.inc"
#include "engine/backend/common/libc/file_hooks.inc"
#include "engine/backend/common/libc/socket_hooks.inc"
#include "engine/backend/common/libc/wait_hooks.inc"

/* ---- what Android's fortified headers call ---- */

HOOK(ssize_t, __write_chk)(int fd, const void *from, size_t bytes, size_t room)
{
    WRITE_SCOPE(STROBE_KIND_WRITE, fd, bytes);
    return ORIGINAL(__write_chk)(fd, from, bytes, room);
}

HOOK(ssize_t, __pwrite_chk)(int fd, const void *from, size_t bytes, off_t at, size_t room)
{
    SCOPE(STROBE_KIND_WRITE, FD(fd));
    return ORIGINAL(__pwrite_chk)(fd, from, bytes, at, room);
}

HOOK(ssize_t, __pwrite64_chk)(int fd, const void *from, size_t bytes, off64_t at, size_t room)
{
    SCOPE(STROBE_KIND_WRITE, FD(fd));
    return ORIGINAL(__pwrite64_chk)(fd, from, bytes, at, room);
}

HOOK(int, __openat_2)(int directory, const char *path, int flags)
{
    SCOPE(STROBE_KIND_OPEN, 0);
    return ORIGINAL(__openat_2)(directory, path, flags);
}

HOOK(int, __ppoll_chk)
(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask, size_t room)
{
    POLL_SCOPE;
    POLL_RETURNS(ORIGINAL(__ppoll_chk)(fds, count, timeout, mask, room));
}

HOOK(ssize_t, __sendto_chk)
(int fd, const void *from, size_t bytes, size_t room, int flags, const struct sockaddr *to, socklen_t length)
{
    WRITE_SCOPE(STROBE_KIND_NET, fd, bytes);
    return ORIGINAL(__sendto_chk)(fd, from, bytes, room, flags, to, length);
}

struct strobe_art_libc strobe_art_libc;

/* ---- jump.S ---- */

enum { JUMP_DLOPEN, JUMP_DLOPEN_EXT, JUMP_SYSCALL, JUMPS };

void *strobe_art_jump[JUMPS];

static const struct {
    const char *name;
    void *replacement;
} jumps[JUMPS] = {
    [JUMP_DLOPEN] = {STROBE_LIBC_STRING(dlopen), (void *)strobe_art_dlopen},
    [JUMP_DLOPEN_EXT] = {"android_dlopen_ext", (void *)strobe_art_dlopen_ext},
    [JUMP_SYSCALL] = {STROBE_LIBC_STRING(syscall), (void *)strobe_art_syscall},
};

/* A point before the load: the call cannot be a scope, because the hook does not see its end. */
void strobe_art_load_begins(void)
{
    POINT(STROBE_KIND_LOAD, 0);
}

static bool futex_waits(int operation)
{
    return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
}

static bool futex_wakes(int operation)
{
    return operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET || operation == FUTEX_REQUEUE ||
           operation == FUTEX_CMP_REQUEUE || operation == FUTEX_WAKE_OP;
}

static enum strobe_wake wake_of_futex(long result)
{
    return result == 0          ? STROBE_WAKE_RELEASED
           : errno == ETIMEDOUT ? STROBE_WAKE_TIMEOUT
           : errno == EINTR     ? STROBE_WAKE_INTERRUPTED
                                : STROBE_WAKE_NONE; /* the word had changed */
}

long strobe_art_futex(long number, long word, long operation, long value, long timeout, long other, long third)
{
    long (*call)(long, ...) = (long (*)(long, ...))strobe_art_jump[JUMP_SYSCALL];
    int what = (int)operation & FUTEX_CMD_MASK;
    if (futex_waits(what)) {
        WAIT(STROBE_KIND_COND, (uint64_t)word);
        long r = call(number, word, operation, value, timeout, other, third);
        strobe_hook_woken(&scope_, (uint64_t)word, wake_of_futex(r), false);
        return r;
    }
    if (!futex_wakes(what))
        return call(number, word, operation, value, timeout, other, third);
    struct strobe_hook_release release = RELEASE((uint64_t)word, value == 1 ? STROBE_RELEASE_ONE : STROBE_RELEASE_ALL);
    long r = call(number, word, operation, value, timeout, other, third);
    strobe_hook_release_end(&release);
    return r;
}

/* ---- the table ---- */

static const struct strobe_art_libc_hook libc_hooks[] = {
    STROBE_LIBC_FILES(STROBE_LIBC_HOOK) STROBE_LIBC_WAITS(STROBE_LIBC_HOOK) STROBE_LIBC_SOCKETS(STROBE_LIBC_HOOK)
        STROBE_LIBC_DESCRIPTORS(STROBE_LIBC_HOOK) STROBE_LIBC_GNU(STROBE_LIBC_HOOK)
            STROBE_LIBC_BIONIC_CALLS(STROBE_LIBC_HOOK)};

static const struct strobe_art_libc_hook libc_tries[] = {
#define STROBE_LIBC_TRY(name) {STROBE_LIBC_STRING(name), offsetof(struct strobe_art_libc, name), NULL},
    STROBE_LIBC_TRIES(STROBE_LIBC_TRY)};

enum { LIBC_FUNCTIONS_MAX = STROBE_SLOT_INDEX / 2, LIBC_HOOKS = sizeof libc_hooks / sizeof libc_hooks[0] };

static struct strobe_slot_function functions[LIBC_FUNCTIONS_MAX];
static uint32_t function_count;
static struct strobe_slot_table slots;

static void find_functions(const struct strobe_art_libc_hook *hooks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *f = dlsym(RTLD_DEFAULT, hooks[i].name);
        memcpy((char *)&strobe_art_libc + hooks[i].offset, &f, sizeof f);
        if (f && hooks[i].replacement && function_count < LIBC_FUNCTIONS_MAX)
            functions[function_count++] = (struct strobe_slot_function){hooks[i].name, f, hooks[i].replacement};
    }
}

static void find_jumps(void)
{
    for (int i = 0; i < JUMPS; i++) {
        strobe_art_jump[i] = dlsym(RTLD_DEFAULT, jumps[i].name);
        if (strobe_art_jump[i] && function_count < LIBC_FUNCTIONS_MAX)
            functions[function_count++] =
                (struct strobe_slot_function){jumps[i].name, strobe_art_jump[i], jumps[i].replacement};
    }
}

static const char *soname_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool libc_start(struct strobe_jni *env, struct strobe_error *error)
{
    (void)env;
    function_count = 0;
    find_functions(libc_tries, sizeof libc_tries / sizeof libc_tries[0]);
    find_functions(strobe_art_lock_hooks, strobe_art_lock_hook_count);
    find_functions(libc_hooks, LIBC_HOOKS);
    find_jumps();
    strobe_channel_find_open();
    strobe_slot_table_begin(&slots, functions, function_count, soname_of(strobe_art.libart.path));
    if (strobe_load_relaxed(&slots.refused))
        strobe_error_set(error, "%u slots cannot be made writable", strobe_load_relaxed(&slots.refused));
    return true;
}

static void libc_end(void)
{
    strobe_slot_table_end(&slots);
}

void strobe_art_libc_renew(void)
{
    strobe_slot_table_renew(&slots);
}

uint32_t strobe_art_libc_slots(void)
{
    return strobe_load_relaxed(&slots.exchanged);
}

const struct strobe_art_feature strobe_art_feature_libc = {STROBE_ART_LIBC, NULL, libc_start, libc_end};
