/* Memory of the task. */
#include "sim/fake/mach/kernel.h"
#include "sim/fake/mach/libsystem.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PROBES = 64 };

static size_t page_bytes(void)
{
    static _Atomic size_t bytes;
    size_t known = atomic_load_explicit(&bytes, memory_order_relaxed);
    if (!known)
        atomic_store_explicit(&bytes, known = (size_t)sysconf(_SC_PAGESIZE), memory_order_relaxed);
    return known;
}

static bool round_out(vm_address_t *address, vm_size_t *bytes)
{
    size_t page = page_bytes();
    vm_address_t low = *address & ~(page - 1);
    if (*bytes > UINTPTR_MAX - page - *address)
        return false;
    vm_address_t end = (*address + *bytes + page - 1) & ~(page - 1);
    *address = low;
    *bytes = end - low;
    return true;
}

/* ---- reads */

static _Atomic bool emulated;

/* Emulators of user programs do not have the system call. A pipe copies without faults, too. */
static bool read_by_pipe(const char *from, char *to, size_t bytes)
{
    int ends[2];
    if (pipe(ends) != 0)
        return false;
    bool whole = true;
    while (bytes && whole) {
        size_t some = bytes < 4096 ? bytes : 4096;
        whole = write(ends[1], from, some) == (ssize_t)some && read(ends[0], to, some) == (ssize_t)some;
        from += some;
        to += some;
        bytes -= some;
    }
    close(ends[0]);
    close(ends[1]);
    return whole;
}

/* Returns the number of pieces that were read completely. Pieces have the same size and follow each other at `to`. */
static size_t read_pieces(const struct iovec *from, size_t count, char *to)
{
    size_t each = from[0].iov_len, n = 0;
    struct iovec into = {to, each * count};
    long got = syscall(SYS_process_vm_readv, (long)getpid(), &into, 1ul, from, (unsigned long)count, 0ul);
    if (got >= 0 || errno == EFAULT)
        return got > 0 ? (size_t)got / each : 0;
    atomic_store(&emulated, true);
    while (n < count && read_by_pipe(from[n].iov_base, to + n * each, each))
        n++;
    return n;
}

/* Returns why a page cannot be read. Both system calls fail when the page does not exist. The mincore of an emulator
 * also fails when it is protected, and valgrind checks the arguments of msync. */
static kern_return_t vm_read_refusal(uintptr_t address)
{
    unsigned char in_core;
    void *page = (void *)(address & ~(page_bytes() - 1));
    long there = atomic_load(&emulated) ? syscall(SYS_msync, page, page_bytes(), MS_ASYNC)
                                        : syscall(SYS_mincore, page, page_bytes(), &in_core);
    return there == 0 ? KERN_PROTECTION_FAILURE : KERN_INVALID_ADDRESS;
}

/* Reads a byte of each page. Returns the first address that cannot be read, or 0. */
static uintptr_t first_unreadable_page(uintptr_t address, size_t bytes)
{
    uintptr_t page = page_bytes(), at = address, end = address + bytes;
    while (at < end) {
        struct iovec from[PROBES];
        char scratch[PROBES];
        size_t n = 0;
        for (; n < PROBES && at < end; at = (at & ~(page - 1)) + page)
            from[n++] = (struct iovec){(void *)at, 1};
        size_t got = read_pieces(from, n, scratch);
        if (got < n)
            return (uintptr_t)from[got].iov_base;
    }
    return 0;
}

static bool in_one_page(uintptr_t address, size_t bytes)
{
    return (address ^ (address + bytes - 1)) < page_bytes();
}

static kern_return_t vm_read_memory(uintptr_t address, size_t bytes, uintptr_t out)
{
    if (bytes == 0)
        return KERN_SUCCESS;
    if (bytes > UINTPTR_MAX - address)
        return KERN_INVALID_ADDRESS;
    uintptr_t bad = in_one_page(address, bytes) ? 0 : first_unreadable_page(address, bytes);
    struct iovec from = {(void *)address, bytes};
    if (!bad && read_pieces(&from, 1, (char *)out) == 1)
        return KERN_SUCCESS;
    return vm_read_refusal(bad ? bad : address);
}

kern_return_t vm_read_overwrite(task_t task, vm_address_t address, vm_size_t bytes, vm_address_t out,
                                vm_size_t *out_bytes)
{
    static struct fake_call call = {.name = "vm_read_overwrite"};
    kern_return_t answer = fake_kernel_enter(&call);
    int saved = errno;
    if (answer == KERN_SUCCESS)
        answer = fake_task_answers(task, KERN_INVALID_ARGUMENT);
    if (answer == KERN_SUCCESS)
        answer = vm_read_memory(address, bytes, out);
    if (answer == KERN_SUCCESS)
        *out_bytes = bytes;
    errno = saved;
    return fake_kernel_leave(answer);
}

/* ---- mappings */

static kern_return_t vm_allocate_at(vm_address_t *address, vm_size_t bytes, int flags)
{
    bool anywhere = flags & VM_FLAGS_ANYWHERE;
    vm_address_t at = anywhere ? 0 : *address;
    if (bytes == 0) {
        *address = 0;
        return KERN_SUCCESS;
    }
    if (!round_out(&at, &bytes))
        return KERN_NO_SPACE;
    void *p = mmap((void *)at, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | (anywhere ? 0 : MAP_FIXED_NOREPLACE), -1, 0);
    if (p == MAP_FAILED)
        return KERN_NO_SPACE;
    if (!anywhere && (vm_address_t)p != at) {
        munmap(p, bytes);
        return KERN_NO_SPACE;
    }
    *address = (vm_address_t)p;
    return KERN_SUCCESS;
}

kern_return_t fake_vm_allocate(vm_address_t *address, vm_size_t bytes)
{
    return vm_allocate_at(address, bytes, VM_FLAGS_ANYWHERE);
}

kern_return_t vm_allocate(task_t task, vm_address_t *address, vm_size_t bytes, int flags)
{
    static struct fake_call call = {.name = "vm_allocate"};
    kern_return_t answer = fake_kernel_enter(&call);
    int saved = errno;
    if (answer == KERN_SUCCESS)
        answer = fake_task_answers(task, KERN_INVALID_ARGUMENT);
    if (answer == KERN_SUCCESS)
        answer = vm_allocate_at(address, bytes, flags);
    errno = saved;
    answer = fake_kernel_leave(answer);
    if (answer == KERN_SUCCESS)
        fake_log_pages(MALLOC_LOG_TYPE_VM_ALLOCATE, bytes, 0, *address);
    return answer;
}

kern_return_t vm_deallocate(task_t task, vm_address_t address, vm_size_t bytes)
{
    static struct fake_call call = {.name = "vm_deallocate"};
    fake_log_pages(MALLOC_LOG_TYPE_VM_DEALLOCATE, address, bytes, 0);
    kern_return_t answer = fake_kernel_enter(&call);
    int saved = errno;
    if (answer == KERN_SUCCESS)
        answer = fake_task_answers(task, KERN_INVALID_ARGUMENT);
    if (answer == KERN_SUCCESS && bytes) {
        bool fits = round_out(&address, &bytes);
        answer = fits && munmap((void *)address, bytes) == 0 ? KERN_SUCCESS : KERN_INVALID_ARGUMENT;
    }
    errno = saved;
    return fake_kernel_leave(answer);
}

kern_return_t vm_protect(task_t task, vm_address_t address, vm_size_t bytes, boolean_t set_maximum, vm_prot_t to)
{
    static struct fake_call call = {.name = "vm_protect"};
    kern_return_t answer = fake_kernel_enter(&call);
    int saved = errno;
    if (answer == KERN_SUCCESS)
        answer = fake_task_answers(task, KERN_INVALID_ARGUMENT);
    if (answer == KERN_SUCCESS && bytes && !set_maximum) {
        int protection = (to & VM_PROT_READ ? PROT_READ : 0) | (to & VM_PROT_WRITE ? PROT_WRITE : 0) |
                         (to & VM_PROT_EXECUTE ? PROT_EXEC : 0);
        if (!round_out(&address, &bytes))
            answer = KERN_INVALID_ARGUMENT;
        else if (mprotect((void *)address, bytes, protection) != 0)
            answer = errno == ENOMEM ? KERN_INVALID_ADDRESS : KERN_PROTECTION_FAILURE;
    }
    errno = saved;
    return fake_kernel_leave(answer);
}
