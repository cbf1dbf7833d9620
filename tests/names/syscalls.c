/* A program that spends its time in the kernel.
 *
 *     syscalls direct       getpid, by an instruction in its own function
 *     syscalls library      getpid, by the C library's syscall()
 *     syscalls random       getrandom, of much at a time
 *     syscalls compute      no system calls but one for many computations */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TURN = 3 * CLOCKS_PER_SEC / 10, ROUNDS = 2000 };

__attribute__((noinline)) static void call_directly(void)
{
    for (int i = 0; i < ROUNDS; i++) {
#if defined(__x86_64__)
        uint64_t result;
        __asm__ volatile("mov %1, %%eax\n\tsyscall" : "=&a"(result) : "i"(SYS_getpid) : "rcx", "r11", "memory");
#else
        register uint64_t x0 __asm__("x0");
        __asm__ volatile("mov x8, %1\n\tsvc #0" : "=r"(x0) : "i"(SYS_getpid) : "x8", "memory");
#endif
    }
}

__attribute__((noinline)) static void call_by_library(void)
{
    for (int i = 0; i < ROUNDS; i++)
        syscall(SYS_getpid);
}

__attribute__((noinline)) static void get_random(void)
{
    static char bytes[1 << 18];
    if (getrandom(bytes, sizeof bytes, 0) < 0)
        perror("getrandom");
}

__attribute__((noinline)) static void compute(void)
{
    volatile uint64_t sum = 0;
    for (uint64_t i = 0; i < 1000000; i++)
        sum = sum * 31 + i;
    syscall(SYS_getpid);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    void (*turn)(void) = !strcmp(how, "direct")    ? call_directly
                         : !strcmp(how, "library") ? call_by_library
                         : !strcmp(how, "random")  ? get_random
                                                   : compute;
    for (clock_t end = clock() + TURN; clock() < end;)
        turn();
    return 0;
}
