/* With STROBE_TEST_ONLY=PATTERN a test program runs only the tests whose name matches (* and ? as in a shell). Linked
 * into each test program, because CMocka has the filter but no option that sets it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

__attribute__((constructor)) static void set_filter(void)
{
    const char *pattern = getenv("STROBE_TEST_ONLY");
    if (pattern)
        cmocka_set_test_filter(pattern);
}
