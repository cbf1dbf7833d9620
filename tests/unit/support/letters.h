/* Short notation for sessions, for tests of timelines. A letter is a function, and a stack is a text of letters,
 * outermost first. Timelines are compared as text. Each test begins a session, adds to it, ends it, and then checks the
 * recording. Tests only; a test program includes it once. */
#ifndef STROBE_UNIT_SUPPORT_LETTERS_H
#define STROBE_UNIT_SUPPORT_LETTERS_H

#include "tests/unit/support/recording.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>

#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const uint64_t US = 1000, MS = 1000000;

static struct strobe_build build;
static struct recording recording;
static uint32_t thread;

/* ---- making sessions */

static inline void begin_with(const struct strobe_config *config)
{
    strobe_build_begin(&build, temp_dir_path("session"), config);
    thread = strobe_build_thread(&build, 4242, "main");
}

static inline void begin(void)
{
    struct strobe_config config = strobe_build_config();
    begin_with(&config);
}

/* Interns a stack of functions, given as characters: "abc" means a calls b calls c. 'a' is function 97. */
static inline uint32_t stack(const char *functions)
{
    uint64_t address[STROBE_STACK_DEPTH_MAX];
    uint32_t count = 0;
    for (; functions[count]; count++)
        address[count] = (uint64_t)(unsigned char)functions[count] << 8 | 16;
    return strobe_build_stack(&build, address, count);
}

static inline void write_record(struct strobe_record record)
{
    assert_int_equal(strobe_build_record(&build, record, NULL), STROBE_OK);
}

static inline void sample(uint64_t ticks, const char *functions)
{
    write_record((struct strobe_record){.ticks = ticks, .stack = stack(functions), .thread = thread});
}

static inline void sample_cpu(uint64_t ticks, const char *functions, uint64_t cpu_ns)
{
    write_record((struct strobe_record){
        .ticks = ticks, .stack = stack(functions), .thread = thread, .cpu_ns = cpu_ns, .flags = STROBE_FLAG_CPU});
}

static inline void merged(uint64_t first, uint64_t last, uint32_t count, const char *functions)
{
    write_record((struct strobe_record){
        .ticks = first, .duration = last - first, .count = count, .stack = stack(functions), .thread = thread});
}

static inline void async(uint64_t ticks, const char *functions)
{
    write_record(
        (struct strobe_record){.ticks = ticks, .stack = stack(functions), .thread = thread, .kind = STROBE_KIND_ASYNC});
}

static inline void call(uint64_t from, uint64_t to, const char *functions, enum strobe_kind kind)
{
    write_record((struct strobe_record){.ticks = from,
                                        .duration = to - from,
                                        .stack = stack(functions),
                                        .thread = thread,
                                        .kind = (uint8_t)kind,
                                        .flags = STROBE_FLAG_SCOPE});
}

static inline void end_with(uint64_t ticks, const struct strobe_timeline_options *options)
{
    strobe_build_end(&build, ticks);
    recording_read(&recording, temp_dir_path("session"), options);
}

static inline void end(uint64_t ticks)
{
    end_with(ticks, NULL);
}

/* Compares the timeline of the main thread with `wanted`, in which letters are functions. */
static inline void expect(const char *wanted)
{
    char said[1 << 13];
    const char *text = recording_text(&recording, 0);
    size_t used = 0;
    for (unsigned id, length; *text && used + 1 < sizeof said;) {
        if (sscanf(text, "f%u%n", &id, (int *)&length) == 1 && id < 128) {
            said[used++] = (char)id;
            text += length;
        } else {
            said[used++] = *text++;
        }
    }
    said[used] = 0;
    assert_string_equal(said, wanted);
    recording_free(&recording);
}

#endif
