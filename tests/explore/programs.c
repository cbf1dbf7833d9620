/* The programs that are explored, group by group. */
#include "tests/explore/programs.h"

const struct explore_group explore_groups[] = {
    {"suspend", explore_suspend_programs},
    {"table", explore_table_programs},
    {"ring", explore_ring_programs},
    {"session", explore_session_programs},
    {"thread", explore_thread_programs},
    {0},
};
