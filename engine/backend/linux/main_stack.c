#include "engine/backend/linux/main_stack.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

/* At an exec the kernel stores the name of the executed file, to which AT_EXECFN points, and one more word at the end
 * of the stack. The stack may then grow to the limit RLIMIT_STACK. Source: fs/exec.c of Linux. */
bool strobe_linux_main_stack(uint64_t frame, uint64_t *low, uint64_t *high)
{
    const char *name = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    uint64_t page = getauxval(AT_PAGESZ);
    struct rlimit limit;
    if (!name || getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return false;
    uint64_t end = (uint64_t)(uintptr_t)name + strlen(name) + 1 + sizeof(void *);
    *high = (end + page - 1) / page * page;
    *low = *high - limit.rlim_cur / page * page;
    return limit.rlim_cur < *high && frame >= *low && frame < *high;
}
