/* Declaration of malloc_logger, a function pointer of libSystem. When it is not NULL, libSystem calls it after each
 * allocation and before each release, and holds no lock of the allocator then. libSystem exports it, but no public
 * header declares it (Apple's open source libmalloc, stack_logging.h). */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_MALLOC_LOGGER_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_MALLOC_LOGGER_H

#include <stdint.h>

/*            type                        arg1   arg2      arg3    result
 *   malloc   ALLOCATE | HAS_ZONE         zone   size      0       address
 *   calloc   the same | CLEARED          zone   size      0       address
 *   realloc  ALLOCATE | DEALLOCATE | ... zone   address   size    new address
 *   free     DEALLOCATE | HAS_ZONE       zone   address   0       0
 */
#define MALLOC_LOG_TYPE_ALLOCATE      2u
#define MALLOC_LOG_TYPE_DEALLOCATE    4u
#define MALLOC_LOG_TYPE_HAS_ZONE      8u
#define MALLOC_LOG_TYPE_VM_ALLOCATE   16u /* of pages: not of the heap */
#define MALLOC_LOG_TYPE_VM_DEALLOCATE 32u
#define MALLOC_LOG_TYPE_CLEARED       64u

typedef void malloc_logger_t(uint32_t type, uintptr_t arg1, uintptr_t arg2, uintptr_t arg3, uintptr_t result,
                             uint32_t num_hot_frames_to_skip);
extern malloc_logger_t *malloc_logger;

/* libsystem_kernel calls this one for pages, with the task as arg1 (Apple's open source xnu, libsyscall):
 *
 *                                     type             arg2      arg3   result
 *   mmap, vm_allocate, vm_map, ...    VM_ALLOCATE      size      0      address      after the call
 *   munmap, vm_deallocate             VM_DEALLOCATE    address   size   0            before the call
 */
extern malloc_logger_t *__syscall_logger;

#endif
