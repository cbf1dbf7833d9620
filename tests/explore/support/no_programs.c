/* For builds that can't hold them. */
#include "sim/explore/program.h"

const struct explore_group explore_groups[] = {{0}};
