/* The library with a planted call reads at load time which call to make. */
#include "tests/deadlock/plants.h"

static __attribute__((constructor)) void choose(void)
{
    planted_choose();
}
