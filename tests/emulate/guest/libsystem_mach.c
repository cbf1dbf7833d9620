#include "tests/emulate/guest/libsystem.h"

mach_port_t mach_task_self_;

kern_return_t task_threads(task_t task, thread_act_array_t *threads, mach_msg_type_number_t *count)
{
    return (kern_return_t)ask3(CALL_TASK_THREADS, task, (uint64_t)threads, (uint64_t)count);
}

kern_return_t thread_suspend(thread_act_t thread)
{
    return (kern_return_t)ask3(CALL_THREAD_SUSPEND, thread, 0, 0);
}

kern_return_t thread_resume(thread_act_t thread)
{
    return (kern_return_t)ask3(CALL_THREAD_RESUME, thread, 0, 0);
}

kern_return_t thread_get_state(thread_act_t thread, thread_state_flavor_t flavor, thread_state_t state,
                               mach_msg_type_number_t *count)
{
    return (kern_return_t)ask(CALL_THREAD_GET_STATE, thread, (uint64_t)flavor, (uint64_t)state, (uint64_t)count, 0, 0);
}

kern_return_t thread_info(thread_act_t thread, thread_flavor_t flavor, thread_info_t out, mach_msg_type_number_t *count)
{
    return (kern_return_t)ask(CALL_THREAD_INFO, thread, flavor, (uint64_t)out, (uint64_t)count, 0, 0);
}

kern_return_t thread_policy_set(thread_t thread, thread_policy_flavor_t flavor, thread_policy_t policy,
                                mach_msg_type_number_t count)
{
    return (kern_return_t)ask(CALL_THREAD_POLICY_SET, thread, flavor, (uint64_t)policy, count, 0, 0);
}

mach_port_t mach_thread_self(void)
{
    return (mach_port_t)ask3(CALL_THREAD_SELF, 0, 0, 0);
}

kern_return_t mach_port_deallocate(ipc_space_t space, mach_port_name_t name)
{
    return (kern_return_t)ask3(CALL_PORT_DEALLOCATE, space, name, 0);
}

kern_return_t mach_port_get_refs(ipc_space_t space, mach_port_name_t name, mach_port_right_t right,
                                 mach_port_urefs_t *refs)
{
    return (kern_return_t)ask(CALL_PORT_GET_REFS, space, name, right, (uint64_t)refs, 0, 0);
}

kern_return_t task_info(task_t task, task_flavor_t flavor, task_info_t out, mach_msg_type_number_t *count)
{
    return (kern_return_t)ask(CALL_TASK_INFO, task, flavor, (uint64_t)out, (uint64_t)count, 0, 0);
}

kern_return_t vm_read_overwrite(task_t task, vm_address_t address, vm_size_t bytes, vm_address_t out,
                                vm_size_t *out_bytes)
{
    return (kern_return_t)ask(CALL_VM_READ_OVERWRITE, task, address, bytes, out, (uint64_t)out_bytes, 0);
}

kern_return_t vm_allocate(task_t task, vm_address_t *address, vm_size_t bytes, int flags)
{
    return (kern_return_t)ask(CALL_VM_ALLOCATE, task, (uint64_t)address, bytes, (uint64_t)flags, 0, 0);
}

kern_return_t vm_deallocate(task_t task, vm_address_t address, vm_size_t bytes)
{
    return (kern_return_t)ask3(CALL_VM_DEALLOCATE, task, address, bytes);
}

kern_return_t vm_protect(task_t task, vm_address_t address, vm_size_t bytes, boolean_t set_maximum, vm_prot_t to)
{
    return (kern_return_t)ask(CALL_VM_PROTECT, task, address, bytes, (uint64_t)set_maximum, (uint64_t)to, 0);
}

uint64_t mach_absolute_time(void)
{
    return ask3(CALL_ABSOLUTE_TIME, 0, 0, 0);
}

kern_return_t mach_timebase_info(mach_timebase_info_t out)
{
    *out = (mach_timebase_info_data_t){125, 3};
    return KERN_SUCCESS;
}

kern_return_t mach_wait_until(uint64_t deadline)
{
    ask3(CALL_WAIT_UNTIL, deadline, 0, 0);
    return KERN_SUCCESS;
}

/* ---- the loader */

static os_unfair_lock loader_lock;

uint32_t _dyld_image_count(void)
{
    return (uint32_t)ask3(CALL_IMAGE, 0, IMAGE_COUNT, 0);
}

const struct mach_header *_dyld_get_image_header(uint32_t index)
{
    return (const struct mach_header *)ask3(CALL_IMAGE, index, IMAGE_HEADER, 0);
}

intptr_t _dyld_get_image_vmaddr_slide(uint32_t index)
{
    return (intptr_t)ask3(CALL_IMAGE, index, IMAGE_HEADER, 0); /* libraries are linked for address 0 */
}

const char *_dyld_get_image_name(uint32_t index)
{
    enum { IMAGES = 8, NAME_BYTES = 512 };
    static char names[IMAGES][NAME_BYTES];
    if (index >= _dyld_image_count() || index >= IMAGES)
        return NULL;
    os_unfair_lock_lock(&loader_lock);
    ask3(CALL_IMAGE, index, IMAGE_NAME, (uint64_t)names[index]);
    os_unfair_lock_unlock(&loader_lock);
    return names[index];
}

/* All images are loaded from the start, and stay loaded. */
void _dyld_register_func_for_add_image(void (*func)(const struct mach_header *header, intptr_t slide))
{
    os_unfair_lock_lock(&loader_lock);
    for (uint32_t i = 0; i < _dyld_image_count(); i++)
        func(_dyld_get_image_header(i), _dyld_get_image_vmaddr_slide(i));
    os_unfair_lock_unlock(&loader_lock);
}

void _dyld_register_func_for_remove_image(void (*func)(const struct mach_header *header, intptr_t slide))
{
    (void)func;
}

void *dlsym(void *handle, const char *name)
{
    (void)handle;
    os_unfair_lock_lock(&loader_lock);
    uint64_t address = ask3(CALL_SYMBOL, (uint64_t)name, 0, 0);
    os_unfair_lock_unlock(&loader_lock);
    return (void *)address;
}

void dyld_stub_binder(void)
{
    abort(); /* the host has bound all pointers */
}
