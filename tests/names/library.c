/* A library with one function that computes. */
#include <stdint.h>
#include <time.h>

uint64_t compute_in_library(void);

uint64_t compute_in_library(void)
{
    uint64_t sum = 0;
    clock_t end = clock() + 3 * CLOCKS_PER_SEC / 10;
    while (clock() < end)
        for (uint64_t i = 0; i < 100000; i++)
            sum = sum * 31 + (i ^ sum >> 7);
    return sum;
}
