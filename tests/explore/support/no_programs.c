/* An empty list of programs, for builds that cannot contain them. */
#include "sim/explore/program.h"

const struct explore_group explore_groups[] = {{0}};
