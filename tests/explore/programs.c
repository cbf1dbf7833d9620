/* The programs that are explored, group by group. */
#include "tests/explore/programs.h"

const struct explore_group explore_groups[] = {
    {"suspend", explore_suspend_programs},
    {0},
};
