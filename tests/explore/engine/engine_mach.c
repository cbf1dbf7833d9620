#include "tests/explore/engine/engine_mach.h"

#include "tests/explore/programs.h"

#include <string.h>

static struct mach_played *played;
static mach_port_t list[1];

mach_port_t mach_task_self_ = MACH_PLAYED_PORTS;

void mach_play(struct mach_played *p)
{
    played = p;
}

mach_port_t mach_played_right(mach_port_t port)
{
    strobe_add_relaxed(&played->rights[port], 1u);
    return port;
}

/* Requires that the task holds a right for the port. Without a right, the name may already belong to another thread. */
static void require_held(mach_port_t port)
{
    explore_require(port > 0 && port < MACH_PLAYED_PORTS && strobe_load_relaxed(&played->rights[port]) > 0);
}

kern_return_t mach_port_deallocate(ipc_space_t space, mach_port_name_t name)
{
    explore_require(space == mach_task_self_);
    require_held(name);
    strobe_add_relaxed(&played->rights[name], ~0u);
    return KERN_SUCCESS;
}

kern_return_t task_threads(task_t task, thread_act_array_t *threads, mach_msg_type_number_t *count)
{
    explore_require(task == mach_task_self_);
    *threads = list;
    *count = played->listed != 0;
    list[0] = played->listed ? mach_played_right(played->listed) : 0;
    return KERN_SUCCESS;
}

kern_return_t vm_deallocate(task_t task, vm_address_t address, vm_size_t bytes)
{
    explore_require(task == mach_task_self_ && address == (vm_address_t)list && bytes <= sizeof list);
    return KERN_SUCCESS;
}

kern_return_t thread_info(thread_act_t thread, thread_flavor_t flavor, thread_info_t out, mach_msg_type_number_t *count)
{
    require_held(thread);
    memset(out, 0, *count * sizeof *out);
    if (flavor == THREAD_IDENTIFIER_INFO)
        ((thread_identifier_info_data_t *)out)->thread_id = played->ids[thread];
    if (flavor == THREAD_BASIC_INFO) {
        thread_basic_info_data_t *info = (thread_basic_info_data_t *)out;
        info->suspend_count = (integer_t)strobe_load_relaxed(&played->suspends[thread]);
        info->run_state = info->suspend_count ? TH_STATE_WAITING : TH_STATE_RUNNING;
    }
    return KERN_SUCCESS;
}

kern_return_t thread_suspend(thread_act_t thread)
{
    require_held(thread);
    strobe_add_relaxed(&played->suspends[thread], 1u);
    return KERN_SUCCESS;
}

kern_return_t thread_resume(thread_act_t thread)
{
    require_held(thread);
    explore_require(strobe_add_relaxed(&played->suspends[thread], ~0u) > 0);
    return KERN_SUCCESS;
}

kern_return_t thread_get_state(thread_act_t thread, thread_state_flavor_t flavor, thread_state_t state,
                               mach_msg_type_number_t *count)
{
    (void)flavor;
    require_held(thread);
    memset(state, 0, *count * sizeof *state);
    return KERN_SUCCESS;
}

kern_return_t vm_read_overwrite(task_t task, vm_address_t address, vm_size_t bytes, vm_address_t out,
                                vm_size_t *out_bytes)
{
    (void)task, (void)address, (void)bytes, (void)out;
    *out_bytes = 0;
    return KERN_INVALID_ADDRESS;
}

uint64_t mach_absolute_time(void)
{
    return played->now();
}

kern_return_t mach_timebase_info(mach_timebase_info_t out)
{
    *out = (struct mach_timebase_info){1, 1};
    return KERN_SUCCESS;
}

kern_return_t mach_wait_until(uint64_t deadline)
{
    (void)deadline;
    return KERN_SUCCESS;
}
