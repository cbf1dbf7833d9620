/* The app's memory as a tracer sees it: registers, stacks, code.
 *
 * Code is generated when it is read: prologue, nops, calls, epilogue. Unwinders search for nothing else. Calls from
 * native to native code are direct. Calls from and to managed code go through cells that hold the method's address
 * (`call *cell(%rip)`), like the code that .NET generates. */
#include "engine/host/host.h"
#include "sim/runtime/player.h"

#include <string.h>

enum {
    PUSH_RBP = 0x55,
    POP_RBP = 0x5d,
    RET = 0xc3,
    NOP = 0x90,
    INSTRUCTION_NS = 2, /* compute time that stands for one instruction of a prologue or epilogue */
    HOOK_OFFSET = 0x40, /* offset of a thread that is stopped in a hook */
};
static const uint8_t prologue[4] = {PUSH_RBP, 0x48, 0x89, 0xe5};

uint32_t sim_run_method_at(const struct sim_run *run, uint64_t address)
{
    const struct sim_world *w = run->world;
    uint64_t waits = address - SIM_WAIT_CODE;
    if (waits < (uint64_t)STROBE_KIND_COUNT * SIM_OWN_CODE_BYTES)
        return sim_wait_method((enum strobe_kind)(waits / SIM_OWN_CODE_BYTES));
    uint32_t low = 0, high = w->scenario->method_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (w->code[w->by_address[middle]].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return SIM_HOOK_METHOD;
    uint32_t method = w->by_address[low - 1];
    return address - w->code[method].address < w->code[method].bytes ? method : SIM_HOOK_METHOD;
}

bool sim_run_is_hook(uint64_t address)
{
    return address - SIM_HOOK_CODE < SIM_OWN_CODE_BYTES;
}

/* ---- registers ---- */

static void set_registers(struct strobe_regs *r, uint64_t pc, uint64_t sp, uint64_t fp)
{
    enum { DWARF_RBP = 6, DWARF_RSP = 7, DWARF_RIP = 16 };
    r->general[DWARF_RIP] = r->pc = pc;
    r->general[DWARF_RSP] = r->sp = sp;
    r->general[DWARF_RBP] = r->fp = fp;
}

static void stand_in_method(const struct sim_vthread *v, const struct sim_vframe *f, uint64_t caller_fp,
                            struct strobe_regs *r)
{
    const struct sim_code *c = &v->player->world->code[f->method];
    const struct sim_thread *t = v->thread;
    uint64_t done = t->compute_ns - t->compute_left_ns, left = t->compute_left_ns;
    uint64_t at_call = f->sp_before - 8; /* sp after the call: at the return address */
    if (v->fresh && done < INSTRUCTION_NS)
        set_registers(r, c->address, at_call, caller_fp);
    else if (v->fresh && done < 2 * INSTRUCTION_NS && !c->frameless)
        set_registers(r, c->address + SIM_CODE_AFTER_PUSH, at_call - 8, caller_fp);
    else if (v->ends_with_compute && left <= INSTRUCTION_NS)
        set_registers(r, c->address + c->bytes - 1, at_call, caller_fp);
    else
        set_registers(r, sim_call_site(c, v->op) - 1, v->sp, v->fp);
}

void sim_run_registers(const struct sim_vthread *v, struct strobe_regs *out)
{
    memset(out, 0, sizeof *out);
    if (!v->frame_count) {
        set_registers(out, SIM_HOOK_CODE + HOOK_OFFSET, v->sp, v->fp);
        return;
    }
    const struct sim_vframe *f = &v->frames[v->frame_count - 1];
    enum strobe_kind wait = sim_wait_kind(f->method);
    if (f->method == SIM_HOOK_METHOD)
        set_registers(out, SIM_HOOK_CODE + HOOK_OFFSET, v->sp, v->fp);
    else if (wait != STROBE_KIND_NONE)
        set_registers(out, SIM_WAIT_CODE + (uint64_t)wait * SIM_OWN_CODE_BYTES + HOOK_OFFSET, v->sp, v->fp);
    else
        stand_in_method(v, f, v->frame_count > 1 ? f[-1].fp : 0, out);
}

/* ---- reads ---- */

/* Returns the operation in the block, nested blocks included, that calls with return address `site`. NULL: there is
 * none. */
static const struct sim_op *caller_in(const struct sim_world *w, const struct sim_code *c, uint32_t block,
                                      uint64_t site)
{
    const struct sim_scenario *s = w->scenario;
    const struct sim_block *b = &s->blocks[block];
    const struct sim_op *found = NULL;
    for (uint32_t i = b->first; i < b->first + b->count && !found; i++) {
        const struct sim_op *op = &s->ops[i];
        if ((op->kind == SIM_OP_CALL || op->kind == SIM_OP_RECURSE) && sim_call_site(c, i) == site)
            return op;
        if (op->block)
            found = caller_in(w, c, op->block, site);
        if (op->other_block && !found)
            found = caller_in(w, c, op->other_block, site);
        for (uint32_t a = op->first; a < op->first + op->count && !found; a++)
            found = caller_in(w, c, s->arms[a].block, site);
    }
    return found;
}

/* Cells hold the addresses of methods. Each image has all of them in the memory right before it, in reach of a call. */
enum { CELLS_BYTES = 1 << 24, CELL_BYTES = 8 };

static uint64_t cell_of(const struct sim_world *w, const struct sim_code *caller, uint32_t method)
{
    const struct sim_scenario *s = w->scenario;
    uint64_t image = s->images[s->methods[caller - w->code].image].start;
    return image - CELLS_BYTES + (uint64_t)method * CELL_BYTES;
}

static bool read_cell_byte(const struct sim_world *w, uint64_t address, uint8_t *out)
{
    const struct sim_scenario *s = w->scenario;
    for (uint32_t i = 0; i < s->image_count; i++) {
        uint64_t offset = address - (s->images[i].start - CELLS_BYTES), method = offset / CELL_BYTES;
        if (offset >= CELLS_BYTES || method >= s->method_count)
            continue;
        *out = (uint8_t)(w->code[method].address >> 8 * (offset % CELL_BYTES));
        return true;
    }
    return false;
}

/* Returns a byte of a call, or NOP where there is none. The call ends right before its return address. */
static uint8_t call_byte(const struct sim_world *w, const struct sim_code *c, uint64_t offset)
{
    enum { CALL = 0xe8, INDIRECT = 0xff, RIP_CELL = 0x15, INDIRECT_BYTES = 6 };
    if (offset < SIM_FIRST_SITE - SIM_SITE_BYTES)
        return NOP;
    uint64_t before = SIM_SITE_BYTES - offset % SIM_SITE_BYTES, site = c->address + offset + before;
    const struct sim_op *op =
        before <= INDIRECT_BYTES ? caller_in(w, c, w->scenario->methods[c - w->code].block, site) : NULL;
    const struct sim_code *to = op ? &w->code[op->object] : NULL;
    if (!to)
        return NOP;
    bool in_reach = (uint64_t)((int64_t)(to->address - site) + INT32_MAX) <= UINT32_MAX - 1u;
    bool direct = in_reach && !c->managed && !to->managed;
    uint64_t target = direct ? to->address : cell_of(w, c, op->object);
    if (before <= 4)
        return (uint8_t)((target - site) >> 8 * (4 - before));
    if (direct)
        return before == SIM_CALL_BYTES ? CALL : NOP;
    return before == INDIRECT_BYTES ? INDIRECT : RIP_CELL;
}

static uint8_t code_byte(const struct sim_world *w, const struct sim_code *c, uint64_t offset)
{
    if (!c->frameless && offset < sizeof prologue)
        return prologue[offset];
    if (offset + 1 == c->bytes)
        return RET;
    return !c->frameless && offset + 2 == c->bytes ? POP_RBP : call_byte(w, c, offset);
}

static size_t read_code(const struct sim_run *run, uint64_t address, uint8_t *out, size_t bytes)
{
    size_t i = 0;
    for (; i < bytes; i++, address++) {
        uint32_t method = sim_run_method_at(run, address);
        if (method < run->scenario->method_count)
            out[i] = code_byte(run->world, &run->world->code[method], address - run->world->code[method].address);
        else if (sim_wait_kind(method) || sim_run_is_hook(address))
            out[i] = NOP;
        else if (!read_cell_byte(run->world, address, &out[i]))
            break;
    }
    return i;
}

/* Overwrites the saved frame pointer of a record near sp, like a bug of the app. It then points to itself, between two
 * words, to an unmapped address, down the stack, or past the next record. */
static void corrupt(const struct sim_vthread *v, uint64_t address, uint8_t *copy, size_t bytes, uint64_t choice)
{
    uint64_t at = v->fp;
    const uint64_t wild[] = {at, at + 4, 0x10, at - 64, at + 48};
    if (at < address || bytes < 8 || at - address > bytes - 8)
        return;
    memcpy(copy + (at - address), &wild[choice % (sizeof wild / sizeof wild[0])], sizeof wild[0]);
}

static enum strobe_status read_stack(struct sim_run *run, const struct sim_vthread *owner, uint64_t address, void *out,
                                     size_t bytes, size_t *copied)
{
    uint64_t room = (uint64_t)(uintptr_t)owner->stack_high - address, amount;
    *copied = 0;
    if (run->scenario->fault_count &&
        sim_fault_strikes(run->faults, SIM_FAULT_UNREADABLE_STACK, owner->spec, sim_now(), &amount))
        return STROBE_UNREADABLE;
    *copied = bytes < room ? bytes : (size_t)room;
    memcpy(out, (const void *)(uintptr_t)address, *copied);
    if (run->scenario->fault_count &&
        sim_fault_strikes(run->faults, SIM_FAULT_CORRUPT_STACK, owner->spec, sim_now(), &amount))
        corrupt(owner, address, out, *copied, amount ? amount : sim_fault_counts(run->faults)[SIM_FAULT_CORRUPT_STACK]);
    return *copied ? STROBE_OK : STROBE_UNREADABLE;
}

enum strobe_status sim_run_read(struct sim_run *run, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    const struct sim_vthread *owner = sim_stack_owner(&run->world->stacks, address);
    if (owner)
        return read_stack(run, owner, address, out, bytes, copied);
    *copied = read_code(run, address, out, bytes);
    return *copied ? STROBE_OK : STROBE_UNREADABLE;
}
