/* A program that generates machine code and lists it, as a runtime with a compiler does.
 *
 *     jit map      two functions, listed in /tmp/perf-PID.map as `loop one` and `loop two`, and a line that is none
 *     jit dump     one function after the other at the same address, recorded in ./jit-PID.dump, which is mapped
 *     jit none     a function that is listed nowhere
 *
 * Each function runs for the same CPU time. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { TURN_NS = 400000000, ROUNDS = 200000, PAGE = 4096 };

/* Counts its argument down to 0. It has its own frame. */
#if defined(__x86_64__)
static const uint8_t machine_code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};
#else
static const uint32_t machine_code[] = {0xa9bf7bfd, 0x910003fd, 0xf1000400, 0x54ffffe1, 0xa8c17bfd, 0xd65f03c0};
#endif

typedef void loop(uint64_t rounds);

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *make_page(void)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return page;
}

static void *generate(void *at)
{
    memcpy(at, machine_code, sizeof machine_code);
    __builtin___clear_cache((char *)at, (char *)at + sizeof machine_code);
    return at;
}

static void run(void *code)
{
    loop *function;
    memcpy(&function, &code, sizeof function);
    for (uint64_t end = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + TURN_NS; clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end;)
        function(ROUNDS);
}

static void run_with_map(void)
{
    char *page = make_page(), path[64];
    void *one = generate(page), *two = generate(page + 256);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "we");
    if (!map)
        exit(1);
    fprintf(map, "%" PRIxPTR " 400 what stood here before\n", (uintptr_t)page);
    fprintf(map, "this is no line of a map\n");
    fprintf(map, "%" PRIxPTR " %zx loop one\n", (uintptr_t)one, sizeof machine_code);
    fprintf(map, "%" PRIxPTR " %zx loop two\n", (uintptr_t)two, sizeof machine_code);
    fclose(map);
    run(one);
    run(two);
}

static void record_load(FILE *dump, const void *code, uint64_t index, const char *name)
{
    struct {
        uint32_t id, bytes;
        uint64_t time;
        uint32_t pid, tid;
        uint64_t vma, start, code_bytes, index;
    } load = {0,
              (uint32_t)(sizeof load + strlen(name) + 1 + sizeof machine_code),
              clock_ns(CLOCK_MONOTONIC),
              (uint32_t)getpid(),
              (uint32_t)getpid(),
              (uintptr_t)code,
              (uintptr_t)code,
              sizeof machine_code,
              index};
    fwrite(&load, sizeof load, 1, dump);
    fwrite(name, strlen(name) + 1, 1, dump);
    fwrite(machine_code, sizeof machine_code, 1, dump);
    fflush(dump);
}

static void run_with_dump(void)
{
    struct {
        uint32_t magic, version, bytes, machine, pad, pid;
        uint64_t time, flags;
    } head = {0x4a695444, 1, sizeof head, 62, 0, (uint32_t)getpid(), clock_ns(CLOCK_MONOTONIC), 0};
    char path[64];
    snprintf(path, sizeof path, "jit-%d.dump", (int)getpid());
    FILE *dump = fopen(path, "w+e");
    if (!dump)
        exit(1);
    fwrite(&head, sizeof head, 1, dump);
    fflush(dump);
    mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0);
    void *page = make_page();
    record_load(dump, generate(page), 1, "first tenant");
    run(page);
    record_load(dump, generate(page), 2, "second tenant");
    run(page);
    fclose(dump);
    if (chdir("/"))
        exit(1);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "map"))
        run_with_map();
    else if (!strcmp(how, "dump"))
        run_with_dump();
    else
        run(generate(make_page()));
    return 0;
}
