/* Runs the function set of tests/emulate/frames on an emulated 32-bit ARM core. At every instruction takes the stack as
 * the engine does by exception tables, and compares it with the true one.
 *
 *   rig [--calls] [--tables] IMAGE...    IMAGE: the set as an ELF program, linked without imports
 *                                        --calls: compares only where a function has just been called
 *                                        --tables: the engine reads no code
 *
 * Prints a line for each image, and the first instructions where a stack was wrong. Exit status: 1 when a stack was
 * wrong or when the images had different results; 2 when an image could not be run. */
#include "engine/backend/linux/exidx.h"
#include "engine/backend/linux/unwind_table.h"
#include "engine/store/stack_table.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicorn/unicorn.h>

enum { MEMORY_BYTES = 1 << 20, STACK_BYTES = 1 << 20, SHOWN_MAX = 20, SHADOW_MAX = 1024, TEXT_MAX = 1 << 16 };
enum { BASE = 0x100000, STACK_LOW = 0x60000000, EXIDX = 0x70000001, THUMB = 1, THUMB_STATE = 0x20 };

#define SEED UINT64_C(0x5eed)

/* The true call stack. A call sets the link register to the address behind it; a return goes there with the stack
 * pointer that the call had. */
struct shadow {
    uint64_t back[SHADOW_MAX], sp[SHADOW_MAX]; /* outermost first */
    uint32_t depth;
    uint64_t last_pc, last_bytes;
    bool called;
};

struct rig {
    uc_engine *core;
    const char *name;
    uint8_t *memory, *stack;
    uint64_t entry, end_text, table, table_bytes;
    struct strobe_unwind_index *index;
    struct strobe_host host;
    struct shadow shadow;
    uint64_t steps, compared, wrong, shown, doubtful, result;
    bool done;
    uint8_t seen[TEXT_MAX / 2];
};

static bool calls_only, tables_only;

_Noreturn static void die(const char *what, const char *name)
{
    fprintf(stderr, "frames: %s: %s\n", name, what);
    exit(2);
}

/* ---- guest memory, as the engine's host reads it */

static enum strobe_status read_guest(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    const struct rig *r = ctx;
    *copied = 0;
    if (address - BASE >= MEMORY_BYTES)
        return STROBE_UNREADABLE;
    uint64_t left = BASE + MEMORY_BYTES - address;
    *copied = bytes < left ? bytes : (size_t)left;
    memcpy(out, r->memory + (address - BASE), *copied);
    return STROBE_OK;
}

/* ---- images */

static void load(struct rig *r, const char *name)
{
    static uint8_t file[4 << 20] __attribute__((aligned(16)));
    FILE *f = fopen(name, "rb");
    size_t bytes = f ? fread(file, 1, sizeof file, f) : 0;
    const Elf32_Ehdr *h = (const void *)file;
    r->name = name;
    if (!f || bytes < 64 || bytes == sizeof file || memcmp(file, ELFMAG, SELFMAG) || h->e_machine != EM_ARM)
        die("is no program for ARM", name);
    fclose(f);
    const Elf32_Phdr *p = (const void *)(file + h->e_phoff);
    r->entry = h->e_entry;
    for (int i = 0; i < h->e_phnum; i++) {
        if (p[i].p_type == EXIDX) {
            r->table = p[i].p_vaddr;
            r->table_bytes = p[i].p_memsz;
        }
        if (p[i].p_type != PT_LOAD)
            continue;
        if (p[i].p_vaddr < BASE || p[i].p_vaddr - BASE + p[i].p_memsz > MEMORY_BYTES ||
            (uint64_t)p[i].p_offset + p[i].p_filesz > bytes)
            die("does not fit", name);
        memcpy(r->memory + (p[i].p_vaddr - BASE), file + p[i].p_offset, p[i].p_filesz);
        if (p[i].p_flags & PF_X)
            r->end_text = p[i].p_vaddr + p[i].p_filesz;
    }
    struct strobe_unwind_image image = {.start = BASE, .end = r->end_text};
    uint32_t slot;
    if (strobe_exidx_open(r->memory, MEMORY_BYTES, BASE, r->table, r->table_bytes, &image.frames) != STROBE_OK ||
        strobe_unwind_index_add(r->index, &image, &slot) != STROBE_OK)
        die("has no exception tables", name);
}

/* ---- at every instruction */

static uint32_t read_register(const struct rig *r, int number)
{
    uint32_t value = 0;
    uc_reg_read(r->core, number, &value);
    return value;
}

static void read_registers(const struct rig *r, struct strobe_regs *regs)
{
    *regs = (struct strobe_regs){.pc = read_register(r, UC_ARM_REG_PC),
                                 .sp = read_register(r, UC_ARM_REG_SP),
                                 .fp = read_register(r, UC_ARM_REG_R11),
                                 .lr = read_register(r, UC_ARM_REG_LR)};
    for (int i = 0; i < 13; i++)
        regs->general[i] = read_register(r, UC_ARM_REG_R0 + i);
    regs->general[13] = regs->sp;
    regs->general[14] = regs->lr;
    regs->general[15] = regs->pc;
    regs->general[16] = read_register(r, UC_ARM_REG_CPSR);
}

static void update_shadow(struct rig *r, uint64_t pc, uint32_t bytes)
{
    struct shadow *s = &r->shadow;
    uint64_t lr = read_register(r, UC_ARM_REG_LR) & ~(uint64_t)THUMB, sp = read_register(r, UC_ARM_REG_SP);
    uint64_t behind = s->last_pc + s->last_bytes;
    s->called = s->last_bytes && lr == behind && pc != behind;
    if (s->called && s->depth == SHADOW_MAX)
        die("too deep", r->name);
    if (s->called) {
        s->back[s->depth] = behind;
        s->sp[s->depth++] = sp;
    } else if (s->depth && pc == s->back[s->depth - 1] && sp == s->sp[s->depth - 1]) {
        s->depth--;
    }
    s->last_pc = pc;
    s->last_bytes = bytes;
}

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

static void compare(struct rig *r, uint64_t pc)
{
    uint64_t frames[STROBE_STACK_DEPTH_MAX], *end = frames + STROBE_STACK_DEPTH_MAX;
    struct strobe_regs regs;
    uint32_t count = 0, first = 1;
    read_registers(r, &regs);
    if (calls_only) { /* the caller, at its call */
        regs.pc = regs.lr & ~(uint64_t)THUMB;
        first = 0;
    }
    uint64_t sp = regs.sp & ~UINT64_C(7);
    struct strobe_window stack = {sp, STACK_LOW + STACK_BYTES, (uint64_t)(uintptr_t)r->stack - STACK_LOW, 0};
    enum strobe_walk_end how;
    if (calls_only)
        how = strobe_walk_table_placed(r->index, NULL, &regs, STROBE_FROM_BODY, &stack, end,
                                       (uint64_t[STROBE_STACK_DEPTH_MAX]){0} + STROBE_STACK_DEPTH_MAX,
                                       STROBE_STACK_DEPTH_MAX, &count);
    else
        how = strobe_walk_table(r->index, tables_only ? NULL : &r->host, &regs, &stack, end, STROBE_STACK_DEPTH_MAX,
                                &count);
    bool same = count == r->shadow.depth + first && (!first || end[-1] == pc + 1) &&
                !memcmp(end - count, r->shadow.back, (count - first) * sizeof *end);
    uint8_t *seen = &r->seen[(pc - BASE) / 2 % (TEXT_MAX / 2)];
    if (!same && !(*seen & 2) && r->shown++ < SHOWN_MAX)
        show(r, pc, end - count, count, how);
    *seen |= same ? 1 : 3;
    r->compared++;
    r->wrong += !same;
    r->doubtful += how != STROBE_WALK_ROOT;
}

static void step(uc_engine *core, uint64_t pc, uint32_t bytes, void *ctx)
{
    struct rig *r = ctx;
    uint16_t half;
    update_shadow(r, pc, bytes);
    r->steps++;
    if (!calls_only || r->shadow.called)
        compare(r, pc);
    memcpy(&half, r->memory + (pc - BASE), sizeof half);
    if (half == 0xde07 || half == 0x00f7) { /* udf #7: set_finish, in Thumb or ARM code */
        uint32_t low = read_register(r, UC_ARM_REG_R0), high = read_register(r, UC_ARM_REG_R1);
        r->done = true;
        r->result = (uint64_t)high << 32 | low;
        uc_emu_stop(core);
    }
}

static void run(struct rig *r)
{
    uint32_t sp = STACK_LOW + STACK_BYTES, zero = 0, low = (uint32_t)SEED, high = (uint32_t)(SEED >> 32);
    uint32_t coprocessors = 0xf << 20, vfp_on = 1 << 30;
    uc_hook hook;
    r->host = (struct strobe_host){.read = read_guest, .ctx = r};
    if (uc_open(UC_ARCH_ARM, UC_MODE_ARM, &r->core) || uc_ctl_set_cpu_model(r->core, UC_CPU_ARM_CORTEX_A15) ||
        uc_mem_map_ptr(r->core, BASE, MEMORY_BYTES, UC_PROT_ALL, r->memory) ||
        uc_mem_map_ptr(r->core, STACK_LOW, STACK_BYTES, UC_PROT_READ | UC_PROT_WRITE, r->stack) ||
        uc_hook_add(r->core, &hook, UC_HOOK_CODE, (void *)step, r, 1, 0))
        die("no emulator", r->name);
    uc_reg_write(r->core, UC_ARM_REG_C1_C0_2, &coprocessors);
    uc_reg_write(r->core, UC_ARM_REG_FPEXC, &vfp_on);
    uc_reg_write(r->core, UC_ARM_REG_SP, &sp);
    uc_reg_write(r->core, UC_ARM_REG_R11, &zero);
    uc_reg_write(r->core, UC_ARM_REG_LR, &zero);
    uc_reg_write(r->core, UC_ARM_REG_R0, &low);
    uc_reg_write(r->core, UC_ARM_REG_R1, &high);
    uc_err error = uc_emu_start(r->core, r->entry, UINT64_MAX, 0, 0);
    if (!r->done) {
        fprintf(stderr, "frames: stopped at %#x\n", read_register(r, UC_ARM_REG_PC));
        die(uc_strerror(error), r->name);
    }
    uc_close(r->core);
}

static void *zeroed_pages(size_t bytes)
{
    void *p = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
    if (!p)
        die("no memory", "rig");
    return memset(p, 0, bytes);
}

static uint64_t run_image(const char *name, uint64_t *result)
{
    struct rig *r = zeroed_pages(sizeof *r);
    r->memory = zeroed_pages(MEMORY_BYTES);
    r->stack = zeroed_pages(STACK_BYTES);
    r->index = zeroed_pages(sizeof *r->index);
    load(r, name);
    run(r);
    uint64_t covered = 0, wrong = r->wrong;
    for (size_t n = 0; n < sizeof r->seen; n++)
        covered += r->seen[n] & 1;
    printf("%s: %llu stacks, at %llu places: %llu wrong, %llu in doubt\n", r->name, (unsigned long long)r->compared,
           (unsigned long long)covered, (unsigned long long)r->wrong, (unsigned long long)r->doubtful);
    *result = r->result;
    free(r->memory);
    free(r->stack);
    free(r->index);
    free(r);
    return wrong;
}

int main(int argc, char **argv)
{
    uint64_t wrong = 0, result, first_result = 0;
    bool alike = true;
    int first = 1;
    for (; first < argc && argv[first][0] == '-'; first++) {
        calls_only |= !strcmp(argv[first], "--calls");
        tables_only |= !strcmp(argv[first], "--tables");
    }
    for (int i = first; i < argc; i++) {
        wrong += run_image(argv[i], &result);
        first_result = i == first ? result : first_result;
        alike &= result == first_result;
    }
    printf("%d images, %llu wrong%s\n", argc - first, (unsigned long long)wrong, alike ? "" : "; results differ");
    return argc == first ? 2 : wrong || !alike;
}
