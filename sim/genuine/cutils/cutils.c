/* A libcutils with the genuine library's tracing interface, in one of three versions (FAKE_CUTILS_LEVEL):
 *
 *   25   Android 7: a begin is formatted here and written by write(2); ends are written by the callers, whose header
 *        inlines them: the letter E
 *   26   Android 8: atrace_end_body, which writes `E|pid`
 *   30   Android 11: built with FORTIFY, so it calls __write_chk; atrace_init and atrace_get_enabled_tags in addition
 *
 * STROBE_FAKE_MARKER names the marker file. Without it the file cannot be opened, as in an app, and the descriptor
 * stays -1. STROBE_FAKE_TAGS are the enabled tags (0).
 *
 * Source of the interface: the declarations of Android's <cutils/trace.h>, and the symbols that its libraries
 * export. */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
enum { MESSAGE_BYTES = 1024 };
#define TAG_NOT_READY (UINT64_C(1) << 63)

extern API uint64_t atrace_enabled_tags;
extern API int atrace_marker_fd;
extern API atomic_bool atrace_is_ready;

uint64_t atrace_enabled_tags = TAG_NOT_READY;
int atrace_marker_fd = -1;
atomic_bool atrace_is_ready;

static pthread_once_t once = PTHREAD_ONCE_INIT;

#if FAKE_CUTILS_LEVEL >= 30
/* A function of the C library that fortified programs call. Hooks find it by slots like any other function; its own
 * calls go through no slot. clang would inline it, and then no slot has it. */
API ssize_t __write_chk(int fd, const void *from, size_t bytes, size_t room);
API __attribute__((noinline)) ssize_t __write_chk(int fd, const void *from, size_t bytes, size_t room)
{
    if (bytes > room)
        abort();
    return syscall(SYS_write, fd, from, bytes);
}
#define WRITE(fd, from, bytes) __write_chk(fd, from, bytes, sizeof(from))
#else
#define WRITE(fd, from, bytes) write(fd, from, bytes)
#endif

static void set_up_cutils(void)
{
    const char *marker = getenv("STROBE_FAKE_MARKER"), *tags = getenv("STROBE_FAKE_TAGS");
    atrace_marker_fd = marker ? open(marker, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    atrace_enabled_tags = tags ? strtoull(tags, NULL, 0) : 0;
    atomic_store_explicit(&atrace_is_ready, true, memory_order_release);
}

API void atrace_setup(void);
void atrace_setup(void)
{
    pthread_once(&once, set_up_cutils);
}

/* Writes one message. When it is too long, the end of the name is cut, and the text after the name stays. */
static void write_message(const char *before, const char *name, const char *behind)
{
    char text[MESSAGE_BYTES];
    int all = (int)(strlen(before) + strlen(name) + strlen(behind));
    int over = all >= MESSAGE_BYTES ? all - (MESSAGE_BYTES - 1) : 0;
    int bytes = snprintf(text, sizeof text, "%s%.*s%s", before, (int)strlen(name) - over, name, behind);
    if (WRITE(atrace_marker_fd, text, (size_t)bytes) < 0)
        return; /* there is no way to report an error */
}

static void write_of(char kind, const char *name, const char *behind)
{
    char before[24];
    snprintf(before, sizeof before, "%c|%d%s", kind, getpid(), kind == 'E' ? "" : "|");
    write_message(before, name, behind);
}

API void atrace_begin_body(const char *name);
void atrace_begin_body(const char *name)
{
    write_of('B', name, "");
}

#if FAKE_CUTILS_LEVEL >= 26
API void atrace_end_body(void);
void atrace_end_body(void)
{
    write_of('E', "", "");
}
#endif

static void write_value(char kind, const char *name, int64_t value)
{
    char behind[24];
    snprintf(behind, sizeof behind, "|%" PRId64, value);
    write_of(kind, name, behind);
}

API void atrace_async_begin_body(const char *name, int32_t cookie);
void atrace_async_begin_body(const char *name, int32_t cookie)
{
    write_value('S', name, cookie);
}

API void atrace_async_end_body(const char *name, int32_t cookie);
void atrace_async_end_body(const char *name, int32_t cookie)
{
    write_value('F', name, cookie);
}

API void atrace_int_body(const char *name, int32_t value);
void atrace_int_body(const char *name, int32_t value)
{
    write_value('C', name, value);
}

API void atrace_int64_body(const char *name, int64_t value);
void atrace_int64_body(const char *name, int64_t value)
{
    write_value('C', name, value);
}

API void atrace_set_tracing_enabled(bool enabled);
void atrace_set_tracing_enabled(bool enabled)
{
    atrace_setup();
    atrace_enabled_tags = enabled ? atrace_enabled_tags : 0;
}

API void atrace_update_tags(void);
void atrace_update_tags(void)
{
    const char *tags = getenv("STROBE_FAKE_TAGS");
    atrace_enabled_tags = tags ? strtoull(tags, NULL, 0) : 0;
}

#if FAKE_CUTILS_LEVEL >= 30
API void atrace_init(void);
void atrace_init(void)
{
    atrace_setup();
}

API uint64_t atrace_get_enabled_tags(void);
uint64_t atrace_get_enabled_tags(void)
{
    atrace_setup();
    return atrace_enabled_tags;
}
#endif
