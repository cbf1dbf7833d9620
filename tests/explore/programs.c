/* The explored programs, by group. */
#include "tests/explore/programs.h"
#include "tests/explore/literature/literature.h"

const struct explore_group explore_groups[] = {
    {"artcode", explore_artcode_programs},
    {"artthreads", explore_artthreads_programs},
    {"blocking", explore_blocking_programs},
    {"calls", explore_calls_programs},
    {"gate", explore_gate_programs},
    {"hold", explore_hold_programs},
    {"life", explore_life_programs},
    {"machthreads", explore_machthreads_programs},
    {"machwatch", explore_machwatch_programs},
    {"matrix", explore_matrix_programs},
    {"netease", explore_netease_programs},
    {"packet", explore_packet_programs},
    {"sample", explore_sample_programs},
    {"sampler", explore_sampler_programs},
    {"suspend", explore_suspend_programs},
    {"table", explore_table_programs},
    {"ring", explore_ring_programs},
    {"session", explore_session_programs},
    {"thread", explore_thread_programs},
    {"unwind", explore_unwind_programs},
    {"locks", literature_locks},
    {"futexes", literature_futexes},
    {"queues", literature_queues},
    {"stacks", literature_stacks},
    {"deques", literature_deques},
    {"published", literature_published},
    {"counts", literature_counts},
    {0},
};
