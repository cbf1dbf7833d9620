/* The library that a call is planted in chooses it when it is loaded. */
#include "tests/emulate/guest/planted.h"

static __attribute__((constructor)) void choose(void)
{
    planted_choose();
}
