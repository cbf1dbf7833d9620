/* The functions of a C library that MIG's stubs call. */
#ifndef STROBE_GNUMACH_INCLUDE_MACH_MIG_SUPPORT_H
#define STROBE_GNUMACH_INCLUDE_MACH_MIG_SUPPORT_H

#include <mach/mach_types.h>
#include <mach/message.h>
#include <string.h>

mach_port_t mach_task_self(void);
mach_port_t mig_get_reply_port(void);
void mig_dealloc_reply_port(mach_port_t port);
void mig_put_reply_port(mach_port_t port);
mach_msg_return_t mach_msg(mach_msg_header_t *message, mach_msg_option_t option, mach_msg_size_t send_bytes,
                           mach_msg_size_t receive_bytes, mach_port_t receive_from, mach_msg_timeout_t timeout,
                           mach_port_t notify);

#endif
