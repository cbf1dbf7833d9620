/* Declarations of the parts of Mach that the backend uses: XNU's names, types and numbers on 64-bit machines, written
 * from its public headers (mach/kern_return.h, mach/thread_info.h, mach/task_info.h, mach/arm/_structs.h, ...).
 * engine/backend/mach/abi.c checks them, and is also compiled with Apple's own headers where these are available.
 *
 * These functions have three implementations: libSystem on Darwin, the lab's fake (sim/fake/mach), and the host of an
 * emulated core (tests/emulate). GNU Mach has its own headers, which tests/gnumach adapts to these names.
 *
 * A port name stands for a right. The caller of a function that returns one (task_threads, mach_thread_self) must
 * release it with mach_port_deallocate. */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_MACH_MACH_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_MACH_MACH_H

#include <stddef.h>
#include <stdint.h>

typedef int kern_return_t;
typedef int integer_t;
typedef unsigned natural_t;
typedef int boolean_t;
typedef natural_t mach_port_name_t;
typedef mach_port_name_t mach_port_t, task_t, thread_t, thread_act_t, ipc_space_t;
typedef thread_act_t *thread_act_array_t;
typedef natural_t mach_msg_type_number_t;
typedef natural_t mach_port_right_t, mach_port_urefs_t, mach_port_type_t;
typedef uintptr_t vm_address_t, vm_size_t, vm_offset_t;
typedef int vm_prot_t;
typedef natural_t *thread_state_t;
typedef integer_t *thread_info_t, *task_info_t, *thread_policy_t;
typedef int thread_state_flavor_t;
typedef natural_t thread_flavor_t, task_flavor_t, thread_policy_flavor_t;

#define MACH_PORT_NULL ((mach_port_t)0)
#define MACH_PORT_DEAD ((mach_port_t)~0)

enum {
    KERN_SUCCESS = 0,
    KERN_INVALID_ADDRESS = 1,
    KERN_PROTECTION_FAILURE = 2,
    KERN_NO_SPACE = 3,
    KERN_INVALID_ARGUMENT = 4,
    KERN_FAILURE = 5,
    KERN_RESOURCE_SHORTAGE = 6,
    KERN_ABORTED = 14,
    KERN_INVALID_NAME = 15,
    KERN_INVALID_TASK = 16,
    KERN_INVALID_RIGHT = 17,
    KERN_TERMINATED = 37,
    MACH_SEND_INVALID_DEST = 0x10000003,
};

/* ---- ports */

#define MACH_PORT_RIGHT_SEND      ((mach_port_right_t)0)
#define MACH_PORT_RIGHT_DEAD_NAME ((mach_port_right_t)4)

extern mach_port_t mach_task_self_;
#define mach_task_self() mach_task_self_

mach_port_t mach_thread_self(void);
kern_return_t mach_port_deallocate(ipc_space_t space, mach_port_name_t name);
kern_return_t mach_port_get_refs(ipc_space_t space, mach_port_name_t name, mach_port_right_t right,
                                 mach_port_urefs_t *refs);

/* ---- threads */

/* The caller must release the array with vm_deallocate, and one right for each port in it. */
kern_return_t task_threads(task_t task, thread_act_array_t *threads, mach_msg_type_number_t *count);

/* A thread runs again after as many resumes as suspends.
 *
 *   KERN_FAILURE             thread_resume: the thread is not suspended
 *   KERN_TERMINATED          the thread has ended
 *   MACH_SEND_INVALID_DEST   the thread has ended and its port is dead
 */
kern_return_t thread_suspend(thread_act_t thread);
kern_return_t thread_resume(thread_act_t thread);

/* *count, in natural_t: on entry the size of `state`, on return the number stored. KERN_INVALID_ARGUMENT: `state` is
 * too small. */
kern_return_t thread_get_state(thread_act_t thread, thread_state_flavor_t flavor, thread_state_t state,
                               mach_msg_type_number_t *count);

typedef struct {
    uint64_t __x[29], __fp, __lr, __sp, __pc;
    uint32_t __cpsr, __pad;
} arm_thread_state64_t;
#define ARM_THREAD_STATE64       6
#define ARM_THREAD_STATE64_COUNT ((mach_msg_type_number_t)(sizeof(arm_thread_state64_t) / sizeof(natural_t)))

typedef struct {
    uint64_t __rax, __rbx, __rcx, __rdx, __rdi, __rsi, __rbp, __rsp, __r8, __r9, __r10, __r11, __r12, __r13, __r14,
        __r15, __rip, __rflags, __cs, __fs, __gs;
} x86_thread_state64_t;
#define x86_THREAD_STATE64       4
#define x86_THREAD_STATE64_COUNT ((mach_msg_type_number_t)(sizeof(x86_thread_state64_t) / sizeof(natural_t)))

typedef struct {
    integer_t seconds, microseconds;
} time_value_t;

struct thread_basic_info {
    time_value_t user_time, system_time;
    integer_t cpu_usage, policy, run_state, flags, suspend_count, sleep_time;
};
typedef struct thread_basic_info thread_basic_info_data_t;
#define THREAD_BASIC_INFO       3
#define THREAD_BASIC_INFO_COUNT ((mach_msg_type_number_t)(sizeof(thread_basic_info_data_t) / sizeof(natural_t)))

/* Values of run_state:
 *
 *   RUNNING   on a processor, or ready to run. A thread in the kernel may run on for a while after thread_suspend, and
 *             is RUNNING until it has stopped
 *   WAITING   waits in the kernel. A thread that was suspended during a wait stays WAITING until the wait would have
 *             ended. Newer kernels show each stopped thread as WAITING, with suspend_count > 0
 *   STOPPED   stopped by a suspend
 */
#define TH_STATE_RUNNING         1
#define TH_STATE_STOPPED         2
#define TH_STATE_WAITING         3
#define TH_STATE_UNINTERRUPTIBLE 4
#define TH_STATE_HALTED          5

#define TH_FLAGS_SWAPPED 1
#define TH_FLAGS_IDLE    2

/* The system never reuses a thread_id until its next start. */
struct thread_identifier_info {
    uint64_t thread_id, thread_handle, dispatch_qaddr;
};
typedef struct thread_identifier_info thread_identifier_info_data_t;
#define THREAD_IDENTIFIER_INFO 4
#define THREAD_IDENTIFIER_INFO_COUNT                                                                                   \
    ((mach_msg_type_number_t)(sizeof(thread_identifier_info_data_t) / sizeof(natural_t)))

#define MAXTHREADNAMESIZE 64
struct thread_extended_info {
    uint64_t pth_user_time, pth_system_time;
    int32_t pth_cpu_usage, pth_policy, pth_run_state, pth_flags, pth_sleep_time, pth_curpri, pth_priority,
        pth_maxpriority;
    char pth_name[MAXTHREADNAMESIZE];
};
typedef struct thread_extended_info thread_extended_info_data_t;
#define THREAD_EXTENDED_INFO       5
#define THREAD_EXTENDED_INFO_COUNT ((mach_msg_type_number_t)(sizeof(thread_extended_info_data_t) / sizeof(natural_t)))

kern_return_t thread_info(thread_act_t thread, thread_flavor_t flavor, thread_info_t out,
                          mach_msg_type_number_t *count);

/* Times in units of mach_absolute_time. */
struct thread_time_constraint_policy {
    uint32_t period, computation, constraint;
    boolean_t preemptible;
};
typedef struct thread_time_constraint_policy thread_time_constraint_policy_data_t;
#define THREAD_TIME_CONSTRAINT_POLICY 2
#define THREAD_TIME_CONSTRAINT_POLICY_COUNT                                                                            \
    ((mach_msg_type_number_t)(sizeof(thread_time_constraint_policy_data_t) / sizeof(integer_t)))

kern_return_t thread_policy_set(thread_t thread, thread_policy_flavor_t flavor, thread_policy_t policy,
                                mach_msg_type_number_t count);

/* ---- the task */

/* The times are those of threads that have ended. */
struct mach_task_basic_info {
    uint64_t virtual_size, resident_size, resident_size_max;
    time_value_t user_time, system_time;
    integer_t policy, suspend_count;
};
typedef struct mach_task_basic_info mach_task_basic_info_data_t;
#define MACH_TASK_BASIC_INFO       20
#define MACH_TASK_BASIC_INFO_COUNT ((mach_msg_type_number_t)(sizeof(mach_task_basic_info_data_t) / sizeof(natural_t)))

/* The times of the live threads. */
struct task_thread_times_info {
    time_value_t user_time, system_time;
};
typedef struct task_thread_times_info task_thread_times_info_data_t;
#define TASK_THREAD_TIMES_INFO 3
#define TASK_THREAD_TIMES_INFO_COUNT                                                                                   \
    ((mach_msg_type_number_t)(sizeof(task_thread_times_info_data_t) / sizeof(natural_t)))

struct task_events_info {
    integer_t faults, pageins, cow_faults, messages_sent, messages_received, syscalls_mach, syscalls_unix, csw;
};
#define TASK_EVENTS_INFO       2
#define TASK_EVENTS_INFO_COUNT ((mach_msg_type_number_t)(sizeof(struct task_events_info) / sizeof(natural_t)))

/* Up to revision 1. The system applies an app's memory limit to phys_footprint. */
struct task_vm_info {
    uint64_t virtual_size;
    integer_t region_count, page_size;
    uint64_t resident_size, resident_size_peak, device, device_peak, internal, internal_peak, external, external_peak,
        reusable, reusable_peak, purgeable_volatile_pmap, purgeable_volatile_resident, purgeable_volatile_virtual,
        compressed, compressed_peak, compressed_lifetime, phys_footprint;
};
#define TASK_VM_INFO            22
#define TASK_VM_INFO_REV1_COUNT ((mach_msg_type_number_t)38)

kern_return_t task_info(task_t task, task_flavor_t flavor, task_info_t out, mach_msg_type_number_t *count);

/* ---- memory */

#define VM_PROT_NONE      0
#define VM_PROT_READ      1
#define VM_PROT_WRITE     2
#define VM_PROT_EXECUTE   4
#define VM_PROT_COPY      0x10
#define VM_FLAGS_ANYWHERE 1

/* Copies the whole range or nothing, and never faults. KERN_INVALID_ADDRESS: a part of the range is not mapped.
 * KERN_PROTECTION_FAILURE: a part is not readable. */
kern_return_t vm_read_overwrite(task_t task, vm_address_t address, vm_size_t bytes, vm_address_t out,
                                vm_size_t *out_bytes);
kern_return_t vm_allocate(task_t task, vm_address_t *address, vm_size_t bytes, int flags);
kern_return_t vm_deallocate(task_t task, vm_address_t address, vm_size_t bytes);
kern_return_t vm_protect(task_t task, vm_address_t address, vm_size_t bytes, boolean_t set_maximum, vm_prot_t to);

#include <mach/mach_time.h>

#endif
