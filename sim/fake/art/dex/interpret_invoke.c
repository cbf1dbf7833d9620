#include "sim/fake/art/dex/interpret.h"

#include <stdio.h>
#include <stdlib.h>

enum invoke { VIRTUAL, SUPER, DIRECT, STATIC, INTERFACE };

static bool null_receiver(struct fake_run *x, const struct fake_method *m)
{
    char text[512];
    snprintf(text, sizeof text, "Attempt to invoke method '%s%s' on a null object reference", m->name, m->signature);
    return fake_null(x, text);
}

/* Returns the method to run. NULL: exception pending. */
static struct fake_method *invoke_target(struct fake_run *x, enum invoke kind, struct fake_method *m, uint32_t receiver)
{
    if (!(m->flags & FAKE_ACC_STATIC) != (kind != STATIC)) {
        fake_throw(x->self, "Ljava/lang/IncompatibleClassChangeError;", m->name);
        return NULL;
    }
    if (kind == STATIC)
        return fake_class_initialize(x->self, m->class) ? m : NULL;
    if (!receiver) {
        null_receiver(x, m);
        return NULL;
    }
    if (kind == DIRECT)
        return m;
    const struct fake_class *from = kind == SUPER ? x->method->class->super : fake_class_of(fake_object(receiver));
    struct fake_method *found =
        kind == SUPER && m->class->flags & FAKE_ACC_INTERFACE ? m : fake_class_dispatch(from, m);
    if (!found)
        fake_throw(x->self, "Ljava/lang/AbstractMethodError;", m->name);
    return found;
}

bool fake_run_invoke(struct fake_run *x)
{
    uint32_t op = x->code[x->pc] & 0xff, list = fake_unit(x, 2);
    bool is_range = op >= 0x74;
    struct fake_method *m = fake_resolve_method(x->self, x->dex, fake_unit(x, 1));
    if (!m)
        return false;
    uint32_t five[5], *words = is_range ? x->registers + list : five;
    uint32_t count = is_range ? fake_aa(x) : fake_b(x);
    FAKE_CHECK(count == m->argument_words);
    if (!is_range)
        for (uint32_t i = 0; i < count; i++)
            five[i] = x->registers[i < 4 ? list >> 4 * i & 15 : fake_a(x)];
    m = invoke_target(x, is_range ? op - 0x74 : op - 0x6e, m, count > 0 ? words[0] : 0);
    return m && fake_execute(x->self, m, words, &x->result);
}
