/* Writes the counters of a build with coverage when a process ends by _exit or abort, or goes on as another program.
 * Linked into each program and library of that build, which then call __wrap__exit, __wrap_abort and __wrap_dlsym
 * instead (-Wl,--wrap in ci/lanes.mk). Counters belong to a program or a library, so the first two write those of all
 * libraries that are loaded.
 *
 * The compiler's own function writes counters at exit(). Those of a process that a signal ends are lost. */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MODULES_MAX = 64, NAME_BYTES = 256 };

struct module_names {
    char name[MODULES_MAX][NAME_BYTES];
    int count;
};

void __gcov_dump(void);
void __gcov_reset(void);
void *__real_dlsym(void *handle, const char *name);
__attribute__((visibility("hidden"))) void *__wrap_dlsym(void *handle, const char *name);
_Noreturn void __real__exit(int status);
_Noreturn void __real_abort(void);
__attribute__((visibility("hidden"))) _Noreturn void __wrap_abort(void);
__attribute__((visibility("hidden"))) _Noreturn void __wrap__exit(int status);
__attribute__((visibility("default"))) void strobe_coverage_write(void);

void strobe_coverage_write(void)
{
    __gcov_dump();
}

/* Runs before the compiler's function that writes the counters: these calls must not fail in a sweep of faults. */
static __attribute__((destructor)) void end_faults(void)
{
    void (*fault_end)(void);
    *(void **)&fault_end = __real_dlsym(RTLD_DEFAULT, "fault_end");
    if (fault_end)
        fault_end();
}

static int note_module(struct dl_phdr_info *info, size_t bytes, void *names_of)
{
    (void)bytes;
    struct module_names *names = names_of;
    if (info->dlpi_name[0] && names->count < MODULES_MAX)
        snprintf(names->name[names->count++], NAME_BYTES, "%s", info->dlpi_name);
    return 0;
}

static void write_all_counters(void)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    static struct module_names names;
    if (atomic_flag_test_and_set(&begun))
        return;
    end_faults();
    dl_iterate_phdr(note_module, &names);
    for (int i = 0; i < names.count; i++) {
        void *module = dlopen(names.name[i], RTLD_NOLOAD | RTLD_LAZY);
        void (*write_counters)(void) = NULL;
        if (module)
            *(void **)&write_counters = __real_dlsym(module, "strobe_coverage_write");
        if (write_counters && write_counters != strobe_coverage_write)
            write_counters();
    }
    strobe_coverage_write();
}

void __wrap__exit(int status)
{
    write_all_counters();
    __real__exit(status);
}

void __wrap_abort(void)
{
    write_all_counters();
    __real_abort();
}

/* ---- functions that the preloaded library finds by name ---- */

typedef int execute(const void *what, char *const argv[], char *const envp[]);
typedef int execute_open(int fd, char *const argv[], char *const envp[]);
static execute *real_execve, *real_execvpe;
static execute_open *real_fexecve;
static void (*real_exit)(int);

/* The counters begin at 0 again: after a vfork they are those of the parent, which goes on. */
static void write_before_exec(void)
{
    __gcov_dump();
    __gcov_reset();
}

static int write_and_execve(const void *path, char *const argv[], char *const envp[])
{
    write_before_exec();
    return real_execve(path, argv, envp);
}

static int write_and_execvpe(const void *file, char *const argv[], char *const envp[])
{
    write_before_exec();
    return real_execvpe(file, argv, envp);
}

static int write_and_fexecve(int fd, char *const argv[], char *const envp[])
{
    write_before_exec();
    return real_fexecve(fd, argv, envp);
}

static void write_and_exit(int status)
{
    write_before_exec();
    real_exit(status);
}

void *__wrap_dlsym(void *handle, const char *name)
{
    const struct {
        const char *name;
        void *real, *instead;
    } ends[] = {
        {"execve", &real_execve, (void *)write_and_execve},
        {"execvpe", &real_execvpe, (void *)write_and_execvpe},
        {"fexecve", &real_fexecve, (void *)write_and_fexecve},
        {"_exit", &real_exit, (void *)write_and_exit},
    };
    void *found = __real_dlsym(handle, name);
    for (size_t i = 0; found && handle == RTLD_NEXT && i < sizeof ends / sizeof *ends; i++)
        if (!strcmp(name, ends[i].name)) {
            memcpy(ends[i].real, &found, sizeof found);
            return ends[i].instead;
        }
    return found;
}
