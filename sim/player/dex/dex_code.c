/* The code of a method (Dalvik bytecode; units of 16 bits). v2 and v3 hold its argument, the player.
 *
 *      0  next:    v0 = step(player)
 *      4           switch v0 by table
 *      7           return
 *      8  throws:  throw thrown(player)
 *     13  call i:  method i(player); goto next          6 units each
 *         caught:  e = the exception                    handler of all units above
 *                  if caught(player, e) goto next
 *                  throw e
 *         table:   SIM_DEX_THROW -> throws; number of callee i -> call i */
#include "sim/player/dex/dex_code.h"

#include "sim/player/dex/dex.h"

enum { THROWS = 8, CALLS = 13, CALL_UNITS = 6, CAUGHT_UNITS = 11, PLAYER = 2, REGISTERS = 4, INS = 2, OUTS = 3 };

enum op {
    MOVE_RESULT = 0x0a,
    MOVE_RESULT_OBJECT = 0x0c,
    MOVE_EXCEPTION = 0x0d,
    RETURN_VOID = 0x0e,
    THROW = 0x27,
    GOTO_32 = 0x2a,
    SPARSE_SWITCH = 0x2c,
    IF_EQZ = 0x38,
    INVOKE_STATIC = 0x71,
    SPARSE_SWITCH_TABLE = 0x0200,
};

static void dex_put_op(struct sim_dex_bytes *out, enum op op, uint32_t reg)
{
    sim_dex_put16(out, (uint32_t)op | reg << 8);
}

/* Passes v2 and v3, and also register `third` when count is 3. */
static void dex_put_invoke(struct sim_dex_bytes *out, uint32_t place, uint32_t count, uint32_t third)
{
    sim_dex_put16(out, INVOKE_STATIC | count << 12);
    sim_dex_put16(out, place);
    sim_dex_put16(out, PLAYER | (PLAYER + 1) << 4 | third << 8);
}

static void dex_put_jump(struct sim_dex_bytes *out, enum op op, uint32_t reg, uint32_t from, uint32_t to)
{
    dex_put_op(out, op, reg);
    sim_dex_put32(out, to - from);
}

static void put_calls(struct sim_dex_bytes *out, const struct sim_dex_callee *callees, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        dex_put_invoke(out, callees[i].place, 2, 0);
        dex_put_jump(out, GOTO_32, 0, CALLS + i * CALL_UNITS + 3, 0);
    }
}

static void put_handler(struct sim_dex_bytes *out, const struct sim_dex_player *player, uint32_t at)
{
    dex_put_op(out, MOVE_EXCEPTION, 0);
    dex_put_invoke(out, player->caught, 3, 0);
    dex_put_op(out, MOVE_RESULT, 1);
    dex_put_op(out, IF_EQZ, 1);
    sim_dex_put16(out, 5);
    dex_put_jump(out, GOTO_32, 0, at + 7, 0);
    dex_put_op(out, THROW, 0);
}

static void put_table(struct sim_dex_bytes *out, const struct sim_dex_callee *callees, uint32_t count)
{
    const uint32_t switch_at = 4;
    sim_dex_put16(out, SPARSE_SWITCH_TABLE);
    sim_dex_put16(out, count + 1);
    sim_dex_put32(out, (uint32_t)SIM_DEX_THROW);
    for (uint32_t i = 0; i < count; i++)
        sim_dex_put32(out, callees[i].number);
    sim_dex_put32(out, THROWS - switch_at);
    for (uint32_t i = 0; i < count; i++)
        sim_dex_put32(out, CALLS + i * CALL_UNITS - switch_at);
}

void sim_dex_put_code(struct sim_dex_bytes *out, const struct sim_dex_player *player,
                      const struct sim_dex_callee *callees, uint32_t count)
{
    const uint32_t caught = CALLS + count * CALL_UNITS, table = (caught + CAUGHT_UNITS + 1) & ~1u;
    const uint32_t units = table + 2 + (count + 1) * 4;
    sim_dex_align(out, 4);
    sim_dex_put16(out, REGISTERS);
    sim_dex_put16(out, INS);
    sim_dex_put16(out, OUTS);
    sim_dex_put16(out, 1); /* tries */
    sim_dex_put32(out, 0); /* no debug info */
    sim_dex_put32(out, units);

    dex_put_invoke(out, player->step, 2, 0);
    dex_put_op(out, MOVE_RESULT, 0);
    dex_put_jump(out, SPARSE_SWITCH, 0, 4, table);
    dex_put_op(out, RETURN_VOID, 0);
    dex_put_invoke(out, player->thrown, 2, 0);
    dex_put_op(out, MOVE_RESULT_OBJECT, 0);
    dex_put_op(out, THROW, 0);
    put_calls(out, callees, count);
    put_handler(out, player, caught);
    if (table > caught + CAUGHT_UNITS)
        sim_dex_put16(out, 0);
    put_table(out, callees, count);

    sim_dex_align(out, 4);
    sim_dex_put32(out, 0);         /* try_item: first unit */
    sim_dex_put16(out, caught);    /* number of units */
    sim_dex_put16(out, 1);         /* byte offset of the handler in the list */
    sim_dex_put_uleb(out, 1);      /* handler list: one handler */
    sim_dex_put_uleb(out, 0);      /* catches all types */
    sim_dex_put_uleb(out, caught); /* unit of the handler */
}
