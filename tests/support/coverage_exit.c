/* Writes the counters of a build with coverage when a process ends by _exit. Linked into each program and library of
 * that build, which then call __wrap__exit instead (-Wl,--wrap=_exit in ci/lanes.mk). Counters belong to a program or a
 * library, so the function writes those of all libraries that are loaded.
 *
 * The C library ends counters only at exit(). Those of a process that a signal ends are lost. */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>

enum { MODULES_MAX = 64, NAME_BYTES = 256 };

struct module_names {
    char name[MODULES_MAX][NAME_BYTES];
    int count;
};

void __gcov_dump(void);
_Noreturn void __real__exit(int status);
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
    *(void **)&fault_end = dlsym(RTLD_DEFAULT, "fault_end");
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

void __wrap__exit(int status)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    static struct module_names names;
    if (!atomic_flag_test_and_set(&begun)) {
        end_faults();
        dl_iterate_phdr(note_module, &names);
        for (int i = 0; i < names.count; i++) {
            void *module = dlopen(names.name[i], RTLD_NOLOAD | RTLD_LAZY);
            void (*write_counters)(void) = NULL;
            if (module)
                *(void **)&write_counters = dlsym(module, "strobe_coverage_write");
            if (write_counters && write_counters != strobe_coverage_write)
                write_counters();
        }
        strobe_coverage_write();
    }
    __real__exit(status);
}
