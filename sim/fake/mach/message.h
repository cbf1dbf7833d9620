/* Calls on ports that only the lab makes, as XNU has them (osfmk/mach/mach_port.h, semaphore.h): receive rights for
 * messages, semaphores. */
#ifndef STROBE_SIM_FAKE_MACH_MESSAGE_H
#define STROBE_SIM_FAKE_MACH_MESSAGE_H

#include "sim/fake/mach/fake.h"

#define MACH_PORT_RIGHT_RECEIVE   ((mach_port_right_t)1)
#define MACH_PORT_RIGHT_SEND_ONCE ((mach_port_right_t)2)
#define KERN_INVALID_VALUE        18
#define MACH_RCV_INVALID_NAME     0x10004002
#define MACH_RCV_TOO_LARGE        0x10004004

/* Maximum bytes of a message. */
enum { FAKE_MACH_MESSAGE_BYTES = 256 };

/* Makes a name with a receive right. KERN_NO_SPACE: no memory. */
FAKE_MACH_API kern_return_t mach_port_allocate(ipc_space_t space, mach_port_right_t right, mach_port_name_t *name);

/* Ends a receive right (delta -1): queued messages are lost, and waiting threads get MACH_RCV_INVALID_NAME. */
FAKE_MACH_API kern_return_t mach_port_mod_refs(ipc_space_t space, mach_port_name_t name, mach_port_right_t right,
                                               int delta);

FAKE_MACH_API kern_return_t semaphore_create(task_t task, semaphore_t *semaphore, int policy, int value);
FAKE_MACH_API kern_return_t semaphore_destroy(task_t task, semaphore_t semaphore);

#endif
