#include "bench/bench.h"

#include <stdlib.h>
#include <sys/mman.h>

void *bench_pages(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (p == MAP_FAILED)
        abort();
    return p;
}
