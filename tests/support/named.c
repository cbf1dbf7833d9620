/* The main function of a program that holds all unit tests of a directory. It runs the test whose name the program has:
 * the Makefile makes a symbolic link to the program for each test. The Makefile also renames the main function of each
 * test, and lists the tests in NAMED_TESTS. */
#include <stdio.h>
#include <string.h>

#ifndef NAMED_TESTS /* when the file is only read for warnings */
#define NAMED_TESTS NAMED(none)
#endif

#define NAMED(test) int main_of_##test(void);
NAMED_TESTS
#undef NAMED

#define NAMED(test) {#test, main_of_##test},
static const struct {
    const char *name;
    int (*run)(void);
} named_tests[] = {NAMED_TESTS};
#undef NAMED

int main(int argc, char **argv)
{
    const char *path = argc ? argv[0] : "", *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof named_tests / sizeof *named_tests; i++)
        if (!strcmp(named_tests[i].name, name))
            return named_tests[i].run();
    fprintf(stderr, "%s: expected to be started by the name of a test\n", path);
    return 2;
}
