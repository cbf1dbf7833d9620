#include "tests/unit/support/temp_dir.h"
#include "tests/support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[TEMPORARY_BYTES];

int temp_dir_open(void **state)
{
    (void)state;
    return mkdtemp(temporary_path(folder, "strobe-test-XXXXXX")) ? 0 : -1;
}

int temp_dir_close(void **state)
{
    char command[256];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

const char *temp_dir_path(const char *name)
{
    static char paths[8][512];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

const char *temp_dir_write(const char *name, const void *content, size_t bytes, mode_t mode)
{
    const char *path = temp_dir_path(name);
    unlink(path);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(content, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

char *temp_dir_read(const char *name, size_t *bytes)
{
    struct stat st;
    FILE *f = fopen(temp_dir_path(name), "rb");
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    char *content = malloc((size_t)st.st_size + 1);
    assert_non_null(content);
    *bytes = fread(content, 1, (size_t)st.st_size, f);
    content[*bytes] = 0;
    fclose(f);
    return content;
}

void temp_dir_run(const char *format, ...)
{
    char command[4096];
    const char *cc = getenv("CC");
    int n = snprintf(command, sizeof command, "cd '%s' && CC=%s && { ", folder, cc && cc[0] ? cc : "cc");
    va_list args;
    va_start(args, format);
    n += vsnprintf(command + n, sizeof command - (size_t)n, format, args);
    va_end(args);
    snprintf(command + n, sizeof command - (size_t)n, "; } >log 2>&1");
    if (system(command)) {
        size_t bytes;
        char *said = temp_dir_read("log", &bytes);
        print_error("%s\n", said);
        free(said);
        fail_msg("%s", command);
    }
}

unsigned strobe_trial_seed(const char *test_program)
{
    const char *given = getenv("SEED");
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL) ^ (unsigned)getpid();
    print_message("seed %u; repeat with: SEED=%u build/tests/unit/%s\n", seed, seed, test_program);
    return seed;
}
