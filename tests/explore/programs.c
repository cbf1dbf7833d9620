/* The programs that are explored, group by group. */
#include "sim/explore/program.h"

const struct explore_group explore_groups[] = {
    {0},
};
