/* The cost of a hook in place: a pair of malloc and free through the preloaded library against the same through the C
 * library, in one process and in turn. The gate is shut for an hour, so nearly all events are skipped by count. */
#include "bench/bench.h"
#include "bench/child.h"
#include "bench/costs.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAIRS = 5000, HOOKS = 2 * PAIRS };

typedef void *malloc_fn(size_t);
typedef void free_fn(void *);

static double pairs_ns(malloc_fn *take, free_fn *give)
{
    uint64_t begin = bench_cpu_ns();
    for (int i = 0; i < PAIRS; i++) {
        void *p = take(64);
        bench_keep(p);
        give(p);
    }
    return (double)(bench_cpu_ns() - begin);
}

int costs_hook_child(const char *path)
{
    static double figures[COSTS_HOOK_ROUNDS];
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    malloc_fn *volatile hooked_malloc = malloc, *volatile real_malloc = NULL;
    free_fn *volatile hooked_free = free, *volatile real_free = NULL;
    if (!libc)
        return 2;
    *(void *volatile *)&real_malloc = dlsym(libc, "malloc");
    *(void *volatile *)&real_free = dlsym(libc, "free");
    if (!real_malloc || !real_free || real_malloc == hooked_malloc)
        return 2;
    for (int i = 0; i < COSTS_HOOK_ROUNDS; i++) {
        double hooked = pairs_ns(hooked_malloc, hooked_free), real = pairs_ns(real_malloc, real_free);
        figures[i] = (hooked - real) / HOOKS;
    }
    FILE *f = fopen(path, "w");
    if (!f || fwrite(figures, sizeof figures, 1, f) != 1)
        return 2;
    return fclose(f) ? 2 : 0;
}

static bool run_child(const char *self, const char *session, const char *path)
{
    char whole[PATH_MAX], folder[PATH_MAX], strobe[PATH_MAX + 16];
    struct child child;
    if (!realpath(self, whole))
        return false;
    strcpy(folder, whole);
    snprintf(strobe, sizeof strobe, "%s/../strobe", dirname(folder));
    const char *const argv[] = {strobe, "record", "--force", "--quiet", "--no-convert", "--interval", "3600s",
                                "--async-interval", "0", "-o", session, "--", whole, "-c", path, NULL};
    return child_run(argv, NULL, true, &child) && child.status == 0;
}

bool costs_hook_measure(const char *self, double figures[COSTS_HOOK_ROUNDS])
{
    char folder[] = "/tmp/strobe-costs-XXXXXX", session[sizeof folder + 16], path[sizeof folder + 16];
    if (!mkdtemp(folder))
        return false;
    snprintf(session, sizeof session, "%s/session", folder);
    snprintf(path, sizeof path, "%s/figures", folder);
    bool done = run_child(self, session, path);
    FILE *f = done ? fopen(path, "r") : NULL;
    done = f && fread(figures, sizeof *figures, COSTS_HOOK_ROUNDS, f) == COSTS_HOOK_ROUNDS;
    if (f)
        fclose(f);
    unlink(session);
    unlink(path);
    rmdir(folder);
    return done;
}
