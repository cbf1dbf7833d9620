#include "tests/unit/faults/sweep.h"
#include "engine/store/call_log.h"
#include "engine/store/names.h"
#include "tests/faults/faulty.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MS = 1000000 };

/* ---- sweeps */

struct content {
    char *bytes;
    size_t count;
};

static struct content take_output(const struct sweep *s)
{
    struct content c = {0};
    if (s->output && !access(temp_dir_path(s->output), F_OK)) {
        c.bytes = temp_dir_read(s->output, &c.count);
        unlink(temp_dir_path(s->output));
    }
    return c;
}

static void check_outcome(const struct sweep *s, const char *kind, uint64_t at, enum strobe_status status,
                          const struct strobe_error *error, const struct content *wanted)
{
    struct content got = take_output(s);
    if (status == STROBE_OK &&
        (got.count != wanted->count || (got.count && memcmp(got.bytes, wanted->bytes, got.count))))
        fail_msg("%s: %s %d: success with another output", s->name, kind, (int)at);
    if (status != STROBE_OK && got.bytes)
        fail_msg("%s: %s %d: status %d leaves an output", s->name, kind, (int)at, status);
    if (strchr(error->text, '\n'))
        fail_msg("%s: %s %d: more than one line: %s", s->name, kind, (int)at, error->text);
    free(got.bytes);
}

static void sweep_kind(const struct sweep *s, const char *kind, const struct content *wanted)
{
    for (uint64_t at = 1;; at++) {
        struct strobe_error error = {""};
        fault_arm(kind, at);
        enum strobe_status status = s->run(&error);
        const char *met = fault_disarm();
        if (!met && status != STROBE_OK)
            fail_msg("%s: %s: status %d without a fault: %s", s->name, kind, status, error.text);
        check_outcome(s, kind, at, status, &error, wanted);
        if (!met)
            return;
    }
}

void sweep_faults(const struct sweep *s)
{
    struct strobe_error error = {""};
    if (s->run(&error) != STROBE_OK)
        fail_msg("%s: %s", s->name, error.text);
    struct content wanted = take_output(s);
    assert_int_equal(wanted.bytes != NULL, s->output != NULL);
    for (const char *const *kind = fault_kinds; *kind; kind++)
        if (strstr(s->kinds, *kind))
            sweep_kind(s, *kind, &wanted);
    free(wanted.bytes);
}

/* ---- a session with everything in it */

static struct strobe_build build;

static uint32_t stack_of(uint64_t leaf, uint32_t depth)
{
    uint64_t address[8];
    for (uint32_t i = 0; i < depth; i++)
        address[i] = i + 1 < depth ? 0x1000 + 0x100 * i : leaf;
    return strobe_build_stack(&build, address, depth);
}

static uint32_t name_of(const char *text)
{
    uint64_t words[STROBE_ANNOTATION_WORDS];
    uint32_t count = strobe_annotation_pack(text, words);
    return strobe_build_stack(&build, words, count);
}

static void put(struct strobe_record record)
{
    strobe_build_record(&build, record, NULL);
}

/* Work of a thread: samples whose stacks grow and shrink, with metrics, from `ms` on. */
static void put_work(uint32_t thread, uint64_t ms)
{
    for (uint32_t i = 0; i < 6; i++) {
        struct strobe_metrics metrics = {.alloc_count = 10 * (i + 1), .alloc_bytes = 1000 * (i + 1)};
        const uint8_t kinds[] = {STROBE_KIND_ALLOC, STROBE_KIND_ASYNC, STROBE_KIND_CPU};
        strobe_build_record(&build,
                            (struct strobe_record){.ticks = (ms + i) * MS,
                                                   .cpu_ns = (ms + i) * MS / 2,
                                                   .thread = thread,
                                                   .stack = stack_of(0x2000 + 0x100 * (i % 3), 2 + i % 3),
                                                   .kind = kinds[i % 3],
                                                   .flags = STROBE_FLAG_CPU | STROBE_FLAG_METRICS},
                            &metrics);
    }
}

/* A wait of `waiter` for a lock, which `waker` ends. */
static void put_wait(uint32_t waiter, uint32_t waker, uint64_t ms)
{
    uint32_t stack = stack_of(0x2400, 3);
    put((struct strobe_record){.ticks = ms * MS,
                               .duration = 4 * MS,
                               .thread = waiter,
                               .stack = stack,
                               .arg = 0xabc,
                               .kind = STROBE_KIND_MUTEX,
                               .flags = STROBE_FLAG_SCOPE});
    put((struct strobe_record){.ticks = (ms + 3) * MS,
                               .duration = MS,
                               .thread = waiter,
                               .stack = stack,
                               .arg = 0xabc,
                               .kind = STROBE_KIND_WAKE,
                               .cpu_span_ns = waker + 1});
}

static void put_process(void)
{
    put((struct strobe_record){.ticks = 3 * MS, .stack = name_of("section"), .kind = STROBE_KIND_ANNOTATION});
    put((struct strobe_record){.ticks = 4 * MS,
                               .stack = name_of("counter"),
                               .arg = 7,
                               .cpu_span_ns = STROBE_ANNOTATION_COUNTER,
                               .kind = STROBE_KIND_ANNOTATION});
    put((struct strobe_record){.ticks = 5 * MS, .cpu_span_ns = STROBE_ANNOTATION_END, .kind = STROBE_KIND_ANNOTATION});
    for (uint32_t i = 0; i < 3; i++)
        put((struct strobe_record){
            .ticks = (2 + i) * MS, .arg = 5000 + i, .kind = STROBE_KIND_COUNTER, .cpu_span_ns = i});
    put((struct strobe_record){.ticks = 2 * MS,
                               .duration = 300 * MS,
                               .arg = STROBE_HITCH_HANG,
                               .stack = stack_of(0x2100, 2),
                               .kind = STROBE_KIND_HITCH});
    put((struct strobe_record){
        .ticks = 400 * MS, .arg = 2 * MS, .kind = STROBE_KIND_COUNTER, .cpu_span_ns = STROBE_SERIES_END_CPU_NS});
}

static void put_names(void)
{
    const struct strobe_names *names = &build.session.names;
    static const char method[] = "void app.Main.run()", note[] = "gc: in place";
    strobe_names_add(names, 0x2000, method, sizeof method - 1, 0);
    strobe_names_add(names, 1, note, sizeof note - 1, STROBE_NAME_NOTE);
    for (uint64_t i = 0; i < 2; i++) /* the second name is valid from 15 ms on */
        strobe_names_add_code(names,
                              &(struct strobe_named_address){.address = 0x20f0,
                                                             .text = i ? "jit_later" : "jit_first",
                                                             .bytes = 9,
                                                             .code_bytes = 64,
                                                             .begin_ticks = i ? STROBE_BUILD_BEGIN_NS + 15 * MS : 0});
}

void sweep_write_session(const char *name)
{
    struct strobe_config config = strobe_build_config();
    config.names_bytes = 4096;
    strobe_build_begin(&build, temp_dir_path(name), &config);
    uint32_t a = strobe_build_thread(&build, 4242, "main"), b = strobe_build_thread(&build, 4243, "worker");
    strobe_build_image(&build, "/nowhere/libapp.so", 0x1000, 0x2000);
    put_work(a, 1);
    put_work(b, 2);
    put_wait(a, b, 10);
    put_work(a, 20);
    put_process();
    put_names();
    strobe_build_end(&build, 400 * MS);
}
