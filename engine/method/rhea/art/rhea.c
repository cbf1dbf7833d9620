#include "engine/method/rhea/art/rhea.h"
#include "engine/base/error_format.h"

#include "engine/backend/art/module.h"
#include "engine/backend/common/capture_life.h"
#include "engine/store/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

struct strobe_rhea_capture *strobe_rhea_newest;

/* The running or the last capture. */
static struct {
    void *memory;
    size_t bytes;
    uint64_t *enabled_tags, tags, tags_before;
    int *marker_fd;
    bool magic;      /* the marker's descriptor is STROBE_RHEA_MAGIC_FD */
    strobe_a32 life; /* capture_life.h; never STUCK, because a capture has no threads */
} capture;

static _Thread_local uint32_t own_tid;

static uint64_t rhea_now_ns(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t rhea_boot_ns(void *ctx)
{
    (void)ctx;
    return rhea_now_ns(CLOCK_BOOTTIME);
}

/* Returns the thread's id, which it caches. In a forked child the id is the parent's, but no capture runs there. */
static uint32_t rhea_own_tid(void *ctx)
{
    (void)ctx;
    if (!own_tid)
        own_tid = (uint32_t)syscall(SYS_gettid);
    return own_tid;
}

static const struct strobe_atrace_system bionic = {rhea_boot_ns, rhea_own_tid, NULL};

static enum strobe_status rhea_refuse(enum strobe_status status, struct strobe_error *error, const char *text)
{
    strobe_error_set(error, "%s", text);
    return status;
}

/* ---- memory */

/* The page reads as zeroes in a forked child. Before Linux 4.14 the child keeps its parent's page. */
static struct strobe_rhea_capture *rhea_make_page(void)
{
    enum { PAGE_BYTES = 4096 };
    _Static_assert(sizeof(struct strobe_rhea_capture) <= PAGE_BYTES, "a page holds it");
    void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return NULL;
    madvise(page, PAGE_BYTES, MADV_WIPEONFORK);
    return page;
}

static enum strobe_status rhea_map_ring(const char *path, size_t bytes, void **out)
{
    int fd = -1;
    if (path) {
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
            return errno == EEXIST ? STROBE_EXISTS : STROBE_IO;
        if (strobe_reserve(fd, bytes) != STROBE_OK) {
            int error = errno;
            close(fd);
            unlink(path);
            errno = error;
            return STROBE_IO;
        }
    }
    *out = mmap(NULL, bytes, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (*out != MAP_FAILED)
        return STROBE_OK;
    if (path)
        unlink(path);
    errno = error;
    return STROBE_IO;
}

static void rhea_release_ring(void)
{
    if (!capture.memory)
        return;
    mmap(capture.memory, capture.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
         -1, 0);
    capture.memory = NULL;
}

void strobe_rhea_release(void)
{
    if (strobe_load_acquire(&capture.life) == STROBE_LIFE_IDLE)
        rhea_release_ring();
}

static enum strobe_status rhea_make_ring(const struct strobe_rhea_options *o, struct strobe_packet_ring *ring,
                                         struct strobe_error *error)
{
    uint32_t slots = strobe_packet_ring_slots(o->slots);
    size_t bytes = strobe_packet_ring_bytes(slots);
    void *memory;
    rhea_release_ring();
    enum strobe_status status = rhea_map_ring(o->ring_path, bytes, &memory);
    if (status == STROBE_EXISTS)
        return rhea_refuse(status, error, "the ring's file exists already");
    if (status != STROBE_OK)
        return rhea_refuse(STROBE_IO, error, "no room for the ring");
    strobe_packet_ring_create(memory, slots);
    capture.memory = memory;
    capture.bytes = bytes;
    return strobe_packet_ring_open(memory, bytes, ring);
}

/* ---- libcutils */

static enum strobe_status find_cutils(const char *name, struct strobe_error *error)
{
    struct strobe_module m;
    enum strobe_status status = strobe_module_open(name ? name : "libcutils.so", &m, error);
    if (status != STROBE_OK)
        return status;
    uintptr_t tags = (uintptr_t)strobe_module_symbol(&m, "atrace_enabled_tags");
    uintptr_t fd = (uintptr_t)strobe_module_symbol(&m, "atrace_marker_fd");
    uintptr_t setup = (uintptr_t)strobe_module_symbol(&m, "atrace_setup");
    strobe_module_close(&m);
    if (!tags || !fd)
        return rhea_refuse(STROBE_NO_ENTRY, error, "libcutils has no atrace_enabled_tags or no atrace_marker_fd");
    capture.enabled_tags = (uint64_t *)tags;
    capture.marker_fd = (int *)fd;
    /* libcutils sets both variables at its first use. This call lets it do so before the capture sets them. */
    if (setup)
        ((void (*)(void))setup)();
    return STROBE_OK;
}

static void rhea_set_tags(uint64_t tags)
{
    int none = -1;
    capture.magic = __atomic_compare_exchange_n(capture.marker_fd, &none, STROBE_RHEA_MAGIC_FD, false, __ATOMIC_RELAXED,
                                                __ATOMIC_RELAXED);
    capture.tags = tags;
    capture.tags_before = __atomic_exchange_n(capture.enabled_tags, tags, __ATOMIC_RELAXED);
}

static void rhea_restore_tags(void)
{
    uint64_t ours = capture.tags;
    int magic = STROBE_RHEA_MAGIC_FD;
    __atomic_compare_exchange_n(capture.enabled_tags, &ours, capture.tags_before, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    if (capture.magic)
        __atomic_compare_exchange_n(capture.marker_fd, &magic, -1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* ---- start and stop */

static void rhea_discard_ring(const char *ring_path)
{
    rhea_release_ring();
    if (ring_path)
        unlink(ring_path);
}

static enum strobe_status rhea_start_capture(const struct strobe_rhea_options *o, struct strobe_error *error)
{
    struct strobe_packet_ring ring;
    enum strobe_status status = find_cutils(o->cutils, error);
    if (status == STROBE_OK)
        status = rhea_make_ring(o, &ring, error);
    if (status != STROBE_OK)
        return status;
    struct strobe_rhea_capture *c = rhea_make_page();
    if (!c) {
        rhea_discard_ring(o->ring_path);
        return rhea_refuse(STROBE_IO, error, "no room for the capture");
    }
    c->marker_fd = capture.marker_fd;
    c->forward = o->forward;
    c->io_least = o->io ? (o->io_least ? o->io_least : STROBE_RHEA_IO_LEAST) : UINT64_MAX;
    strobe_atrace_begin(&c->atrace, &ring, &bionic, (uint32_t)getpid(), rhea_now_ns(CLOCK_MONOTONIC), o->main_only);
    __atomic_store_n(&strobe_rhea_newest, c, __ATOMIC_RELEASE);
    status = strobe_rhea_hook(o->main_only, o->io);
    if (status != STROBE_OK) {
        rhea_discard_ring(o->ring_path);
        return rhea_refuse(status, error, "slots of write can't be exchanged");
    }
    strobe_store_release(&c->on, 1);
    rhea_set_tags(o->tags ? o->tags : STROBE_RHEA_TAGS);
    return STROBE_OK;
}

enum strobe_status strobe_rhea_start(const struct strobe_rhea_options *options, struct strobe_error *error)
{
    enum strobe_status status = strobe_life_claim_start(&capture.life, error);
    if (status != STROBE_OK)
        return status;
    status = rhea_start_capture(options, error);
    strobe_life_conclude_start(&capture.life, status, true);
    return status;
}

void strobe_rhea_hook_loaded(void)
{
    if (strobe_load_acquire(&capture.life) == STROBE_LIFE_RUNNING)
        strobe_rhea_hook_again();
}

enum strobe_status strobe_rhea_stop(void)
{
    if (!strobe_life_claim_stop(&capture.life))
        return STROBE_OK;
    rhea_restore_tags();
    strobe_store_release(&strobe_rhea_newest->on, 0);
    strobe_atrace_end(&strobe_rhea_newest->atrace);
    enum strobe_status status = strobe_rhea_unhook();
    strobe_life_conclude_stop(&capture.life, true);
    return status;
}

/* ---- the log */

struct file {
    int fd;
    size_t used;
    char text[8192];
};

static bool rhea_flush_file(struct file *f)
{
    for (size_t at = 0; at < f->used;) {
        long wrote = syscall(SYS_write, f->fd, f->text + at, f->used - at);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        at += (size_t)wrote;
    }
    f->used = 0;
    return true;
}

static bool rhea_put_text(void *ctx, const char *text, size_t bytes)
{
    struct file *f = ctx;
    if (bytes > sizeof f->text - f->used && !rhea_flush_file(f))
        return false;
    memcpy(f->text + f->used, text, bytes);
    f->used += bytes;
    return true;
}

enum strobe_status strobe_rhea_dump(int fd, uint32_t digits, struct strobe_rhea_log_stats *stats)
{
    static struct file f;
    if (!capture.memory)
        return STROBE_NO_ENTRY;
    f.fd = fd;
    f.used = 0;
    enum strobe_status status = strobe_rhea_log(&strobe_rhea_newest->atrace.ring, digits, rhea_put_text, &f, stats);
    return status == STROBE_OK && !rhea_flush_file(&f) ? STROBE_IO : status;
}

/* ---- events of methods */

static void rhea_mark_method(enum strobe_atrace_kind kind, const char *name)
{
    struct strobe_rhea_capture *c = strobe_rhea_on();
    if (c)
        strobe_atrace_section(&c->atrace, kind, name, strlen(name));
}

void strobe_rhea_enter(const char *name)
{
    rhea_mark_method(STROBE_ATRACE_ENTER, name);
}
void strobe_rhea_leave(const char *name)
{
    rhea_mark_method(STROBE_ATRACE_LEAVE, name);
}
void strobe_rhea_throw(const char *name)
{
    rhea_mark_method(STROBE_ATRACE_THROW, name);
}
