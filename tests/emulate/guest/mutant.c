/* The library that a call is planted in chooses it when it is loaded. */
#include "tests/deadlock/plants.h"

static __attribute__((constructor)) void choose(void)
{
    planted_choose();
}
