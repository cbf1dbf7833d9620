#include "bench/rig.h"

#include "bench/bench.h"
#include "tests/support/temporary.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void check(enum strobe_status status, const char *what)
{
    if (status == STROBE_OK)
        return;
    fprintf(stderr, "bench: %s: %s\n", what, strobe_status_text(status));
    abort();
}

struct strobe_config rig_config(void)
{
    struct strobe_config c;
    strobe_config_default(&c);
    c.metrics = STROBE_METRIC_ALLOC;
    c.async_interval_ns = 0;
    c.threads_max = 16;
    c.images_max = 16;
    return c;
}

static void attach_session(const struct strobe_config *config, struct strobe_session *session)
{
    char folder[TEMPORARY_BYTES], path[sizeof folder + 16];
    if (!mkdtemp(temporary_path(folder, "strobe-bench-XXXXXX")))
        abort();
    snprintf(path, sizeof path, "%s/session", folder);
    struct strobe_session created;
    check(strobe_session_create(path, config, "bench", 0, &created), path);
    strobe_session_unmap(&created);
    check(strobe_session_attach(path, (uint32_t)getpid(), session), path);
    unlink(path);
    rmdir(folder);
}

static struct strobe_stack_bounds own_stack(void)
{
    pthread_attr_t attributes;
    void *base;
    size_t bytes;
    if (pthread_getattr_np(pthread_self(), &attributes) || pthread_attr_getstack(&attributes, &base, &bytes))
        abort();
    pthread_attr_destroy(&attributes);
    uint64_t low = (uint64_t)(uintptr_t)base;
    return (struct strobe_stack_bounds){.low = low, .high = low + bytes};
}

struct rig *rig_new(const struct strobe_config *config)
{
    static strobe_a32 on = STROBE_ON;
    struct rig *rig = bench_pages(sizeof *rig);
    struct strobe_session session;
    struct strobe_stack_bounds stack = own_stack();
    attach_session(config, &session);
    strobe_linux_init(&rig->host, clock_gettime);
    strobe_engine_init(&rig->engine, &session, &rig->host.host, &strobe_unwinder_fp,
                       bench_pages(strobe_engine_memory_bytes(config)));
    strobe_switch = &on;
    rig->thread = strobe_thread_attach(&rig->engine, (uint32_t)gettid(), true, "bench", &stack);
    if (!rig->thread)
        abort();
    return rig;
}

void rig_limit_stack(struct rig *rig, uint64_t high)
{
    rig->thread->stack_high = high;
}
