/* The preloaded library takes its settings from the environment:
 *
 *   FAULT_KIND      one of fault_kinds
 *   FAULT_AT        number of the call of that kind that fails, from 1; 0: none
 *   FAULT_ALL       also all later calls of that kind fail
 *   FAULT_PROGRAM   only in programs with this file name
 *   FAULT_IMAGE     only calls made by the image whose path ends with this text; not set: all calls
 *   FAULT_REPORT    file to which the name of the first call that fails is appended, once a process
 *   FAULT_SERVER    `IN OUT`, descriptors: the program waits before its main function. For each line `KIND AT ALL` that
 *                   it reads from IN, a fork of it goes on, with these settings. It writes the number of that process
 *                   to OUT, and then the status with which the process ended. So a sweep loads and links a command
 *                   once, and not for each place. */
#include "tests/faults/faulty.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const fault_kinds[] = {"alloc", "map", "write", "host", NULL};

/* A place for a debugger to stop. */
void fault_met(const char *name);

#ifdef FAULTS_LINKED

static _Thread_local const char *kind, *met;
static _Thread_local uint64_t at, count;

void fault_arm(const char *of, uint64_t number)
{
    kind = of;
    at = number;
    count = 0;
    met = NULL;
}

const char *fault_disarm(void)
{
    kind = NULL;
    return met;
}

void fault_met(const char *name)
{
    met = name;
}

static bool fails(const char *of, const char *name, const void *caller, int error)
{
    (void)caller;
    if (!kind || strcmp(kind, of) || ++count != at)
        return false;
    fault_met(name);
    errno = error ? error : errno;
    return true;
}

#define REPLACED(name) __wrap_##name
#define ORIGINAL(name) __real_##name
#define DECLARE(result, name, parameters)                                                                              \
    result __real_##name parameters;                                                                                   \
    result __wrap_##name parameters;

#else

enum { CALLERS = 256, STREAM_FAILED = 0x20 /* _IO_ERR_SEEN */ };

static const char *kind, *image, *report;
static uint64_t at;
static bool all;
static _Atomic uint64_t count;
static _Atomic bool reported;
static _Atomic uintptr_t callers[CALLERS]; /* cache: return address * 2 + (it is in the image) */

/* Sets the variables of a line `KIND AT ALL`, ALL being 0 or 1, for this process and for those that it starts. */
static void take_settings(char *line)
{
    char *rest = line;
    const char *of = strsep(&rest, " "), *number = strsep(&rest, " ");
    if (!rest)
        _exit(EXIT_FAILURE);
    setenv("FAULT_KIND", of, 1);
    setenv("FAULT_AT", number, 1);
    if (*rest == '1')
        setenv("FAULT_ALL", "1", 1);
    unsetenv("FAULT_SERVER");
}

/* Returns in each forked process. A line is shorter than a page, so a pipe delivers it whole. */
static void serve_forks(const char *descriptors)
{
    int in, out, status;
    char line[64];
    if (sscanf(descriptors, "%d %d", &in, &out) != 2)
        _exit(EXIT_FAILURE);
    for (ssize_t bytes; (bytes = read(in, line, sizeof line - 1)) > 0;) {
        line[bytes] = '\0';
        pid_t pid = fork();
        if (pid == 0) {
            close(in);
            close(out);
            take_settings(line);
            return;
        }
        if (pid < 0 || write(out, &pid, sizeof pid) < 0 || waitpid(pid, &status, 0) < 0 ||
            write(out, &status, sizeof status) < 0)
            _exit(EXIT_FAILURE);
    }
    _exit(EXIT_SUCCESS);
}

__attribute__((constructor)) static void read_settings(void)
{
    const char *server = getenv("FAULT_SERVER");
    if (server)
        serve_forks(server);
    const char *program = getenv("FAULT_PROGRAM"), *number = getenv("FAULT_AT");
    if (!number || (program && strcmp(program, program_invocation_short_name)))
        return;
    image = getenv("FAULT_IMAGE");
    report = getenv("FAULT_REPORT");
    all = getenv("FAULT_ALL") != NULL;
    at = strtoull(number, NULL, 10);
    kind = getenv("FAULT_KIND");
}

/* Ends the faults. A build with coverage writes its counters afterwards (tests/support/coverage_exit.c). */
void fault_end(void);
void fault_end(void)
{
    kind = NULL;
}

static bool is_in_image(uintptr_t address)
{
    _Atomic uintptr_t *known = &callers[address / 4 % CALLERS];
    uintptr_t found = atomic_load_explicit(known, memory_order_relaxed);
    if (found >> 1 == address)
        return found & 1;
    Dl_info info;
    size_t tail = strlen(image);
    bool in = dladdr((void *)address, &info) && info.dli_fname && strlen(info.dli_fname) >= tail &&
              !strcmp(info.dli_fname + strlen(info.dli_fname) - tail, image);
    atomic_store_explicit(known, address << 1 | in, memory_order_relaxed);
    return in;
}

void fault_met(const char *name)
{
    if (!report || atomic_exchange(&reported, true))
        return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    char line[64];
    int bytes = snprintf(line, sizeof line, "%s\n", name);
    syscall(SYS_write, fd, line, (size_t)bytes);
    syscall(SYS_close, fd);
}

static bool fails(const char *of, const char *name, const void *caller, int error)
{
    if (!kind || strcmp(kind, of) || (image && !is_in_image((uintptr_t)caller)))
        return false;
    uint64_t number = 1 + atomic_fetch_add(&count, 1);
    if (!at || number < at || (number > at && !all))
        return false;
    int saved = errno;
    fault_met(name);
    errno = error ? error : saved;
    return true;
}

static void *original(void *_Atomic *cache, const char *name)
{
    void *known = atomic_load_explicit(cache, memory_order_relaxed);
    if (!known) {
        known = dlsym(RTLD_NEXT, name);
        atomic_store_explicit(cache, known, memory_order_relaxed);
    }
    return known;
}

#define REPLACED(name)                    name
#define ORIGINAL(name)                    ((__typeof__(&(name)))original(&name##_at, #name))
#define DECLARE(result, name, parameters) static void *_Atomic name##_at;

#endif

#define FAILS(of, name, error) fails(of, name, __builtin_return_address(0), error)

/* A call RESULT NAME(PARAMETERS), passed on as ARGUMENTS. With the fault it sets errno to ERROR and returns BAD. */
#define WRAP(of, result, name, parameters, arguments, bad, error)                                                      \
    DECLARE(result, name, parameters)                                                                                  \
    result REPLACED(name) parameters                                                                                   \
    {                                                                                                                  \
        return FAILS(of, #name, error) ? (bad) : ORIGINAL(name) arguments;                                             \
    }

#ifdef FAULTS_LINKED
WRAP("alloc", void *, malloc, (size_t a), (a), NULL, ENOMEM)
WRAP("alloc", void *, calloc, (size_t a, size_t b), (a, b), NULL, ENOMEM)
WRAP("alloc", void *, realloc, (void *a, size_t b), (a, b), NULL, ENOMEM)
WRAP("alloc", void *, aligned_alloc, (size_t a, size_t b), (a, b), NULL, ENOMEM)
#else
/* ---- memory. dlsym allocates, so these use the C library's own names. */

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t bytes)
{
    return FAILS("alloc", __func__, ENOMEM) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    return FAILS("alloc", __func__, ENOMEM) ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *block, size_t bytes)
{
    return FAILS("alloc", __func__, ENOMEM) ? NULL : __libc_realloc(block, bytes);
}

void *reallocarray(void *block, size_t n, size_t bytes)
{
    if (n && bytes > SIZE_MAX / n) {
        errno = ENOMEM;
        return NULL;
    }
    return FAILS("alloc", __func__, ENOMEM) ? NULL : __libc_realloc(block, n * bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (FAILS("alloc", __func__, 0))
        return ENOMEM;
    *out = __libc_memalign(alignment, bytes);
    return *out ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return FAILS("alloc", __func__, ENOMEM) ? NULL : __libc_memalign(alignment, bytes);
}

/* A stream remembers the error. */
DECLARE(size_t, fwrite, (const void *, size_t, size_t, FILE *))
size_t fwrite(const void *data, size_t size, size_t n, FILE *to)
{
    if (FAILS("write", "fwrite", ENOSPC)) {
        to->_flags |= STREAM_FAILED;
        return 0;
    }
    return ORIGINAL(fwrite)(data, size, n, to);
}
#endif

WRAP("map", void *, mmap, (void *a, size_t b, int c, int d, int e, off_t f), (a, b, c, d, e, f), MAP_FAILED, ENOMEM)
WRAP("map", int, mprotect, (void *a, size_t b, int c), (a, b, c), -1, ENOMEM)

WRAP("write", ssize_t, write, (int a, const void *b, size_t c), (a, b, c), -1, ENOSPC)
WRAP("write", ssize_t, pwrite, (int a, const void *b, size_t c, off_t d), (a, b, c, d), -1, ENOSPC)

WRAP("write", int, fallocate, (int a, int b, off_t c, off_t d), (a, b, c, d), -1, ENOSPC)
WRAP("write", int, posix_fallocate, (int a, off_t b, off_t c), (a, b, c), ENOSPC, 0)
WRAP("write", int, ftruncate, (int a, off_t b), (a, b), -1, ENOSPC)
WRAP("write", int, fsync, (int a), (a), -1, EIO)
WRAP("write", int, rename, (const char *a, const char *b), (a, b), -1, ENOSPC)
WRAP("write", int, link, (const char *a, const char *b), (a, b), -1, ENOSPC)
WRAP("write", int, mkdir, (const char *a, mode_t b), (a, b), -1, ENOSPC)

WRAP("host", ssize_t, read, (int a, void *b, size_t c), (a, b, c), -1, EIO)
WRAP("host", ssize_t, pread, (int a, void *b, size_t c, off_t d), (a, b, c, d), -1, EIO)
WRAP("host", FILE *, fopen, (const char *a, const char *b), (a, b), NULL, EMFILE)
WRAP("host", FILE *, fdopen, (int a, const char *b), (a, b), NULL, ENOMEM)
WRAP("host", int, fstat, (int a, struct stat *b), (a, b), -1, EIO)
WRAP("host", int, stat, (const char *a, struct stat *b), (a, b), -1, EIO)
WRAP("host", int, mkstemp, (char *a), (a), -1, EMFILE)
WRAP("host", int, memfd_create, (const char *a, unsigned b), (a, b), -1, EMFILE)
WRAP("host", int, pipe, (int a[2]), (a), -1, EMFILE)
WRAP("host", int, pipe2, (int a[2], int b), (a, b), -1, EMFILE)
WRAP("host", pid_t, fork, (void), (), -1, EAGAIN)
WRAP("host", int, pthread_create, (pthread_t * a, const pthread_attr_t *b, void *(*c)(void *), void *d), (a, b, c, d),
     EAGAIN, 0)
WRAP("host", int, sigaction, (int a, const struct sigaction *b, struct sigaction *c), (a, b, c), -1, EINVAL)

/* The mode of a file that is created comes last. */
#define WRAP_OPEN(name, parameters, arguments, flags)                                                                  \
    DECLARE(int, name, parameters)                                                                                     \
    int REPLACED(name) parameters                                                                                      \
    {                                                                                                                  \
        if (FAILS("host", #name, EMFILE))                                                                              \
            return -1;                                                                                                 \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode_t mode = (flags) & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(list, unsigned) : 0;                            \
        va_end(list);                                                                                                  \
        return ORIGINAL(name) arguments;                                                                               \
    }

WRAP_OPEN(open, (const char *a, int b, ...), (a, b, mode), b)
WRAP_OPEN(openat, (int a, const char *b, int c, ...), (a, b, c, mode), c)
#ifndef FAULTS_LINKED /* the linked program calls them by the names above */
WRAP_OPEN(open64, (const char *a, int b, ...), (a, b, mode), b)
WRAP_OPEN(openat64, (int a, const char *b, int c, ...), (a, b, c, mode), c)
WRAP("map", void *, mmap64, (void *a, size_t b, int c, int d, int e, off64_t f), (a, b, c, d, e, f), MAP_FAILED, ENOMEM)
WRAP("write", ssize_t, pwrite64, (int a, const void *b, size_t c, off64_t d), (a, b, c, d), -1, ENOSPC)
#endif
