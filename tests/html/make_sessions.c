/* Makes two sessions for pages: DIR/hostile.strobe, whose names try to leave the text that they stand in, and
 * DIR/big.strobe, which has more than 100 MB.
 *
 *   make_sessions DIR */
#include "tests/unit/support/session_builder.h"

#include <stdio.h>
#include <stdlib.h>

enum { MS = 1000000, THREADS = 24, FUNCTIONS = 3000, DEPTH = 24, RECORDS = 1000000 };

/* U+2028 ends a line of a script, but not of JSON. */
#define ENDS_SCRIPT "</script><script>document.title='taken'</script>"
#define ENDS_IMAGE  "/opt/<img src=x onerror=\"document.title='taken'\">&amp;\xe2\x80\xa8\\\" <!--.so"

static struct strobe_build build;

static uint64_t address_of(uint32_t function)
{
    return 0x400000 + function * UINT64_C(256) + 16;
}

static void add_sample(uint32_t thread, uint64_t ticks, const uint32_t *functions, uint32_t depth, uint64_t cpu_ns)
{
    uint64_t addresses[DEPTH];
    for (uint32_t i = 0; i < depth; i++)
        addresses[i] = address_of(functions[i]);
    strobe_build_record(&build,
                        (struct strobe_record){.ticks = ticks,
                                               .cpu_ns = cpu_ns,
                                               .stack = strobe_build_stack(&build, addresses, depth),
                                               .thread = thread,
                                               .flags = STROBE_FLAG_CPU},
                        NULL);
}

static void make_hostile(const char *path)
{
    struct strobe_config config = strobe_build_config();
    strobe_build_begin(&build, path, &config);
    snprintf(build.session.header->command, sizeof build.session.header->command, "app %s", ENDS_SCRIPT);
    strobe_build_image(&build, ENDS_IMAGE, 0x400000, 0x500000);
    uint32_t main_thread = strobe_build_thread(&build, 4242, "<b>main</b>\xe2\x80\xa9");
    uint32_t other = strobe_build_thread(&build, 4243, "</script><!--");
    for (uint32_t i = 0; i < 400; i++) {
        const uint32_t functions[] = {0, 1 + i / 100, 8 + i / 10 % 3};
        add_sample(main_thread, i * UINT64_C(1000000), functions, 3, i * UINT64_C(900000));
        add_sample(other, i * UINT64_C(1000000) + 300, functions, 2, i * UINT64_C(500000));
    }
    strobe_build_end(&build, 400 * UINT64_C(1000000));
}

/* Returns a number of a fixed sequence (https://www.jstatsoft.org/article/view/v008i14, xorshift). */
static uint32_t draw(void)
{
    static uint32_t state = 2463534242;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

/* Each thread's stack grows and shrinks at random. A function calls one of three. */
static void make_big(const char *path)
{
    static uint32_t stacks[THREADS][DEPTH], depths[THREADS];
    struct strobe_config config = strobe_build_config();
    config.ring_slots = 1 << 20;
    config.stack_nodes = 1 << 20;
    strobe_build_begin(&build, path, &config);
    for (uint32_t i = 0; i < 16; i++) {
        char name[32];
        snprintf(name, sizeof name, "/opt/app/lib%u.so", i);
        uint64_t begin = 0x400000 + i * (UINT64_C(256) * FUNCTIONS / 16);
        strobe_build_image(&build, name, begin, begin + UINT64_C(256) * FUNCTIONS / 16);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        char name[16];
        snprintf(name, sizeof name, "worker-%u", i);
        strobe_build_thread(&build, 4242 + i, name);
        depths[i] = 1;
    }
    for (uint32_t n = 0; n < RECORDS; n++) {
        uint32_t thread = n % THREADS, *stack = stacks[thread], gone = draw() % 4;
        depths[thread] = depths[thread] > gone + 1 ? depths[thread] - gone : 1;
        while (depths[thread] < DEPTH && draw() % 4) {
            stack[depths[thread]] = (stack[depths[thread] - 1] * 3 + (draw() % 16 ? 1 : draw() % 3)) % FUNCTIONS;
            depths[thread]++;
        }
        add_sample(thread, n / THREADS * UINT64_C(1000000) + thread, stack, depths[thread],
                   n / THREADS * UINT64_C(950000));
    }
    strobe_build_end(&build, RECORDS / THREADS * UINT64_C(1000000) + MS);
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc != 2) {
        fprintf(stderr, "usage: make_sessions DIR\n");
        return 2;
    }
    snprintf(path, sizeof path, "%s/hostile.strobe", argv[1]);
    make_hostile(path);
    snprintf(path, sizeof path, "%s/big.strobe", argv[1]);
    make_big(path);
    return 0;
}
