/* Declarations of Mach messages, written from Apple's public mach/message.h. The backend sends no message of its own.
 * It hooks mach_msg, by which a run loop waits for one. */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_MACH_MESSAGE_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_MACH_MESSAGE_H

#include <mach/mach.h>

typedef struct {
    uint32_t msgh_bits, msgh_size;
    mach_port_t msgh_remote_port, msgh_local_port;
    mach_port_name_t msgh_voucher_port;
    int msgh_id;
} mach_msg_header_t;
typedef kern_return_t mach_msg_return_t;
typedef integer_t mach_msg_option_t;
typedef natural_t mach_msg_size_t, mach_msg_timeout_t;

#define MACH_SEND_MSG      1
#define MACH_RCV_MSG       2
#define MACH_RCV_TIMEOUT   0x100
#define MACH_RCV_TIMED_OUT 0x10004003

mach_msg_return_t mach_msg(mach_msg_header_t *message, mach_msg_option_t option, mach_msg_size_t send_size,
                           mach_msg_size_t room, mach_port_name_t from, mach_msg_timeout_t timeout_ms,
                           mach_port_name_t notify);

#endif
