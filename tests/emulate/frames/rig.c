/* Runs the function set on an emulated arm64 core. At every instruction takes the stack as the engine does on Mach, and
 * compares it with the true one (shadow.h).
 *
 *   rig [--chain] IMAGE...     IMAGE: the set as an ELF program or a Mach-O library, linked without imports
 *                              --chain: takes only the chain of records, which the engine reads while the thread is
 * suspended
 *
 * Prints a line for each image, and the first instructions where a stack was wrong. Exit status: 1 when a stack was
 * wrong or when the images had different results; 2 when an image could not be run. */
#include "engine/backend/mach/host_mach.h"
#include "engine/store/stack_table.h"
#include "tests/emulate/shadow.h"

#include <elf.h>
#include <mach-o/loader.h>
#include <mach-o/nlist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicorn/unicorn.h>

enum { MEMORY_BYTES = 1 << 20, STACK_BYTES = 1 << 20, SHOWN_MAX = 20, TEXT_MAX = 1 << 16 };

#define STACK_LOW UINT64_C(0x16f000000)
#define SEED      UINT64_C(0x5eed)

struct rig {
    uc_engine *core;
    const char *name;
    uint8_t *memory, *stack; /* the image's memory, at `base`, and the stack's, at STACK_LOW */
    uint64_t base, entry, begin_text, end_text;
    struct shadow shadow;
    struct strobe_mach_host mach;
    uint64_t steps, wrong, shown, doubtful, result;
    bool done;
    uint8_t seen[TEXT_MAX / 4]; /* by instruction: 1 = it ran, 3 = a stack at it was wrong */
};

_Noreturn static void die(const char *what, const char *name)
{
    fprintf(stderr, "frames: %s: %s\n", name, what);
    exit(2);
}

/* ---- guest memory, as the engine's host reads it */

static uint8_t *at(struct rig *r, uint64_t address, size_t *left)
{
    bool low = address >= r->base && address - r->base < MEMORY_BYTES;
    bool high = address >= STACK_LOW && address - STACK_LOW < STACK_BYTES;
    uint64_t offset = address - (low ? r->base : STACK_LOW);
    *left = low || high ? (low ? MEMORY_BYTES : STACK_BYTES) - offset : 0;
    return *left ? (low ? r->memory : r->stack) + offset : NULL;
}

static struct rig *reading;
static bool chain_only;

static enum strobe_status read_guest(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    size_t left;
    const uint8_t *from = at(reading, address, &left);
    (void)ctx;
    *copied = bytes < left ? bytes : left;
    if (!from)
        return STROBE_UNREADABLE;
    memcpy(out, from, *copied);
    return STROBE_OK;
}

/* ---- images */

static void put(struct rig *r, uint64_t to, const uint8_t *file, uint64_t offset, uint64_t bytes, size_t file_bytes)
{
    if (to < r->base || to - r->base > MEMORY_BYTES || bytes > MEMORY_BYTES - (to - r->base) || offset > file_bytes ||
        bytes > file_bytes - offset)
        die("does not fit", r->name);
    memcpy(r->memory + (to - r->base), file + offset, bytes);
}

static void load_elf(struct rig *r, const uint8_t *file, size_t bytes)
{
    const Elf64_Ehdr *h = (const void *)file;
    const Elf64_Phdr *p = (const void *)(file + h->e_phoff);
    r->base = UINT64_C(0x100000);
    r->entry = h->e_entry;
    for (int i = 0; i < h->e_phnum; i++) {
        if (p[i].p_type != PT_LOAD)
            continue;
        put(r, p[i].p_vaddr, file, p[i].p_offset, p[i].p_filesz, bytes);
        if (p[i].p_flags & PF_X) {
            r->begin_text = p[i].p_vaddr;
            r->end_text = p[i].p_vaddr + p[i].p_filesz;
        }
    }
}

static void load_macho(struct rig *r, const uint8_t *file, size_t bytes)
{
    const struct mach_header_64 *h = (const void *)file;
    const uint8_t *at_command = file + sizeof *h;
    r->base = 0;
    for (uint32_t i = 0; i < h->ncmds; i++) {
        const struct load_command *c = (const void *)at_command;
        at_command += c->cmdsize;
        if (c->cmd == LC_SEGMENT_64) {
            const struct segment_command_64 *s = (const void *)c;
            put(r, s->vmaddr, file, s->fileoff, s->filesize, bytes);
            if (!strcmp(s->segname, "__TEXT"))
                r->end_text = s->vmaddr + s->vmsize;
        } else if (c->cmd == LC_SYMTAB) {
            const struct symtab_command *t = (const void *)c;
            const struct nlist_64 *symbol = (const void *)(file + t->symoff);
            for (uint32_t n = 0; n < t->nsyms; n++)
                if (!strcmp((const char *)file + t->stroff + symbol[n].n_un.n_strx, "_set_run"))
                    r->entry = symbol[n].n_value;
        }
    }
}

static void load(struct rig *r, const char *name)
{
    static uint8_t file[4 << 20] __attribute__((aligned(16)));
    FILE *f = fopen(name, "rb");
    size_t bytes = f ? fread(file, 1, sizeof file, f) : 0;
    if (!f || bytes < 64 || bytes == sizeof file)
        die("can't be read", name);
    fclose(f);
    uint32_t magic;
    memcpy(&magic, file, sizeof magic);
    r->name = name;
    if (magic == MH_MAGIC_64)
        load_macho(r, file, bytes);
    else if (!memcmp(file, ELFMAG, SELFMAG))
        load_elf(r, file, bytes);
    else
        die("is neither ELF nor Mach-O", name);
    if (!r->entry || r->end_text - r->begin_text > TEXT_MAX)
        die("has no entry, or too much code", name);
}

/* ---- at every instruction */

static void show(const struct rig *r, uint64_t pc, const uint64_t *frames, uint32_t count, enum strobe_walk_end end)
{
    fprintf(stderr, "%s: pc %#llx: found (end %d)", r->name, (unsigned long long)pc, end);
    for (uint32_t i = 0; i < count; i++)
        fprintf(stderr, " %#llx", (unsigned long long)frames[i]);
    fprintf(stderr, "; is");
    for (uint32_t i = 0; i < r->shadow.depth; i++)
        fprintf(stderr, " %#llx", (unsigned long long)r->shadow.back[i]);
    fputc('\n', stderr);
}

static void read_registers(struct rig *r, struct strobe_regs *regs)
{
    *regs = (struct strobe_regs){0};
    uint64_t *const special[] = {&regs->pc, &regs->sp, &regs->fp, &regs->lr};
    const int number[] = {UC_ARM64_REG_PC, UC_ARM64_REG_SP, UC_ARM64_REG_X29, UC_ARM64_REG_X30};
    for (int i = 0; i < 4; i++)
        uc_reg_read(r->core, number[i], special[i]);
    for (int i = 0; i < 29; i++)
        uc_reg_read(r->core, UC_ARM64_REG_X0 + i, &regs->general[i]);
    regs->general[29] = regs->fp;
    regs->general[30] = regs->lr;
    regs->general[31] = regs->sp;
    regs->general[32] = regs->pc;
}

/* Walks as the engine does: in the window, and then after it. Meanwhile the thread has run on, and its stack may
 * hold anything. */
static void look(struct rig *r, uint64_t pc)
{
    uint64_t frames[STROBE_STACK_DEPTH_MAX], *end = frames + STROBE_STACK_DEPTH_MAX;
    struct strobe_regs regs;
    struct strobe_stack_top top = {0};
    uint32_t count = 0;
    read_registers(r, &regs);
    uint64_t sp = regs.sp & ~UINT64_C(7);
    struct strobe_window stack = {sp, STACK_LOW + STACK_BYTES, (uint64_t)(uintptr_t)r->stack - STACK_LOW, 0};
    const struct strobe_unwinder *u = &strobe_unwinder_mach;
    strobe_hold_begin(&r->mach.hold, 1, 2);
    enum strobe_walk_end how = u->stopped(&r->mach.host, &regs, &stack, &top, end, STROBE_STACK_DEPTH_MAX, &count);
    strobe_hold_claim(&r->mach.hold);
    if (!chain_only)
        how = u->resumed(&r->mach.host, &regs, &top, how, end, STROBE_STACK_DEPTH_MAX, &count);
    bool same = count == r->shadow.depth + 1 && end[-1] == pc + 1 &&
                !memcmp(end - count, r->shadow.back, (count - 1) * sizeof *end);
    uint8_t *seen = &r->seen[(pc - r->begin_text) / 4 % (TEXT_MAX / 4)];
    if (!same && !(*seen & 2) && r->shown++ < SHOWN_MAX)
        show(r, pc, end - count, count, how);
    *seen |= same ? 1 : 3;
    r->wrong += !same;
    r->doubtful += how != STROBE_WALK_ROOT;
}

static void step(uc_engine *core, uint64_t pc, uint32_t bytes, void *ctx)
{
    struct rig *r = ctx;
    uint32_t word;
    size_t left;
    const uint8_t *code = at(r, pc, &left);
    (void)bytes;
    if (!code || left < sizeof word)
        die("runs outside its code", r->name);
    memcpy(&word, code, sizeof word);
    shadow_step(&r->shadow, pc, word);
    if (r->shadow.broken)
        die("returns to where it was not called from", r->name);
    r->steps++;
    look(r, pc);
    if (word == 0xd4200020) { /* brk #1: set_finish */
        r->done = true;
        uc_reg_read(core, UC_ARM64_REG_X0, &r->result);
        uc_emu_stop(core);
    }
}

static void run(struct rig *r)
{
    uint64_t sp = STACK_LOW + STACK_BYTES, zero = 0, seed = SEED, fp_on = 3 << 20;
    uc_hook hook;
    r->mach.host = (struct strobe_host){.read = read_guest, .ctx = &r->mach};
    reading = r;
    if (uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &r->core) ||
        uc_mem_map_ptr(r->core, r->base, MEMORY_BYTES, UC_PROT_ALL, r->memory) ||
        uc_mem_map_ptr(r->core, STACK_LOW, STACK_BYTES, UC_PROT_READ | UC_PROT_WRITE, r->stack) ||
        uc_hook_add(r->core, &hook, UC_HOOK_CODE, (void *)step, r, 1, 0))
        die("no emulator", r->name);
    uc_reg_write(r->core, UC_ARM64_REG_CPACR_EL1, &fp_on);
    uc_reg_write(r->core, UC_ARM64_REG_SP, &sp);
    uc_reg_write(r->core, UC_ARM64_REG_X29, &zero);
    uc_reg_write(r->core, UC_ARM64_REG_X30, &zero);
    uc_reg_write(r->core, UC_ARM64_REG_X0, &seed);
    uc_err error = uc_emu_start(r->core, r->entry, UINT64_MAX, 0, 0);
    if (!r->done)
        die(uc_strerror(error), r->name);
    uc_close(r->core);
}

int main(int argc, char **argv)
{
    uint64_t steps = 0, wrong = 0, result = 0, different = 0;
    bool alike = true;
    chain_only = argc > 1 && !strcmp(argv[1], "--chain");
    int first = chain_only ? 2 : 1;
    for (int i = first; i < argc; i++) {
        struct rig *r = calloc(1, sizeof *r);
        r->memory = aligned_alloc(4096, MEMORY_BYTES);
        r->stack = aligned_alloc(4096, STACK_BYTES);
        memset(r->memory, 0, MEMORY_BYTES);
        memset(r->stack, 0, STACK_BYTES);
        load(r, argv[i]);
        run(r);
        uint64_t covered = 0;
        for (size_t n = 0; n < sizeof r->seen; n++)
            covered += r->seen[n] & 1;
        printf("%s: %llu instructions, at %llu places: %llu wrong, %llu in doubt\n", r->name,
               (unsigned long long)r->steps, (unsigned long long)covered, (unsigned long long)r->wrong,
               (unsigned long long)r->doubtful);
        alike &= i == first || r->result == result;
        result = r->result;
        steps += r->steps;
        wrong += r->wrong;
        different += covered;
        free(r->memory);
        free(r->stack);
        free(r);
    }
    printf("%llu stacks at %llu different instructions of %d images, %llu wrong%s\n", (unsigned long long)steps,
           (unsigned long long)different, argc - first, (unsigned long long)wrong, alike ? "" : "; results differ");
    return argc == first ? 2 : wrong || !alike;
}
