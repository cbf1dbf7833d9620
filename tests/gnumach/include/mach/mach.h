/* GNU Mach under the names of engine/backend/sdk/mach/include/mach/mach.h, so that the backend's sources and the rules
 * compile unchanged. The calls are the kernel's, by MIG's stubs. calls.c makes those that the kernel lacks of others:
 *
 *   vm_read_overwrite              vm_read of whole pages, then a copy of the part
 *   THREAD_IDENTIFIER_INFO         time of the thread's creation and its name; a name is not reused within a us
 *   x86_thread_state64_t           i386's registers, under their 64-bit names
 *   mach_absolute_time             the processor's counter; its rate is measured at the begin
 *   mach_wait_until                thread_switch, in ms */
#ifndef STROBE_GNUMACH_INCLUDE_MACH_MACH_H
#define STROBE_GNUMACH_INCLUDE_MACH_MACH_H

#include <mach/mach_types.h>
#include <mach/message.h>
#include <mach/thread_status.h>
#include <stddef.h>
#include <stdint.h>

#include <mig/mach.h>
#include <mig/mach_port.h>

typedef thread_t thread_act_t, *thread_act_array_t;
typedef int thread_state_flavor_t;
typedef natural_t thread_flavor_t;

#define KERN_INVALID_TASK 16
#define VM_FLAGS_ANYWHERE 1
#define VM_PROT_COPY      0x10

mach_port_t mach_task_self(void);
mach_port_t mach_thread_self(void);

typedef struct {
    uint32_t __gs, __fs, __es, __ds, __rdi, __rsi, __rbp, __kernel_sp, __rbx, __rdx, __rcx, __rax, __rip, __cs,
        __rflags, __rsp, __ss;
} x86_thread_state64_t;
_Static_assert(sizeof(x86_thread_state64_t) == sizeof(struct i386_thread_state), "the same registers");
#define x86_THREAD_STATE64       i386_THREAD_STATE
#define x86_THREAD_STATE64_COUNT i386_THREAD_STATE_COUNT

struct thread_identifier_info {
    uint64_t thread_id, thread_handle, dispatch_qaddr;
};
typedef struct thread_identifier_info thread_identifier_info_data_t;
#define THREAD_IDENTIFIER_INFO 4
#define THREAD_IDENTIFIER_INFO_COUNT                                                                                   \
    ((mach_msg_type_number_t)(sizeof(thread_identifier_info_data_t) / sizeof(natural_t)))

/* No thread has any. */
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

kern_return_t gnumach_thread_info(thread_act_t thread, thread_flavor_t flavor, thread_info_t out,
                                  mach_msg_type_number_t *count);
#define thread_info(thread, flavor, out, count) gnumach_thread_info(thread, flavor, out, count)

kern_return_t vm_read_overwrite(task_t task, vm_address_t address, vm_size_t bytes, vm_address_t out,
                                vm_size_t *out_bytes);

typedef struct mach_timebase_info {
    uint32_t numer, denom;
} mach_timebase_info_data_t;
typedef struct mach_timebase_info *mach_timebase_info_t;

uint64_t mach_absolute_time(void);
kern_return_t mach_timebase_info(mach_timebase_info_t out);
kern_return_t mach_wait_until(uint64_t deadline);

#endif
