/* A dex file in memory: its tables, which are checked when it is opened, and the objects that its indices were resolved
 * to.
 *
 * Source: "Dalvik executable format", Android Open Source Project, versions 035 to 039. */
#ifndef STROBE_SIM_FAKE_ART_DEX_DEXFILE_H
#define STROBE_SIM_FAKE_ART_DEX_DEXFILE_H

#include "engine/base/error.h"
#include "sim/fake/art/fake.h"

struct fake_field;

struct fake_dex_proto {
    uint32_t shorty, result, parameters;
};
struct fake_dex_member {
    uint16_t class, type;
    uint32_t name;
}; /* type: for a method, its proto */
struct fake_dex_class {
    uint32_t type, flags, super, interfaces, source, annotations, data, static_values;
};
struct fake_dex_code {
    uint16_t registers, ins, outs, tries;
    uint32_t debug, units;
    uint16_t code[];
};
struct fake_dex_try {
    uint32_t start;
    uint16_t units, handlers;
};

enum { FAKE_DEX_NONE = -1 }; /* as uint32_t: no index */

struct fake_dex {
    const char *path;
    const uint8_t *data;
    size_t bytes;
    uint32_t string_count, type_count, proto_count, field_count, method_count, class_count;
    const uint32_t *strings, *types;
    const struct fake_dex_proto *protos;
    const struct fake_dex_member *fields, *methods;
    const struct fake_dex_class *classes;

    /* resolved at first use; 0 = not yet */
    _Atomic(struct fake_class *) *class_at;
    _Atomic(struct fake_method *) *method_at;
    _Atomic(struct fake_field *) *field_at;
    _Atomic(fake_ref) *string_at;
    const char **signature_at; /* of a proto: "(I)V" */
};

/* A position in a dex file for reading numbers. Past the end it reads 0 and sets `bad`. */
struct fake_dex_reader {
    const uint8_t *at, *end;
    bool bad;
};

/* Maps and checks a dex file. Returns false, with a line in `error`, on failure. The file stays mapped. */
bool fake_dex_map(const char *path, struct fake_dex *out, struct strobe_error *error);

struct fake_dex_reader fake_dex_read_at(const struct fake_dex *d, uint32_t offset);
uint8_t fake_dex_byte(struct fake_dex_reader *r);
uint32_t fake_dex_uleb(struct fake_dex_reader *r);
int32_t fake_dex_sleb(struct fake_dex_reader *r);

/* Indices out of range end the process: the checks have missed them, or code uses them. */
const char *fake_dex_string(const struct fake_dex *d, uint32_t index);
const char *fake_dex_type(const struct fake_dex *d, uint32_t index);
const char *fake_dex_shorty(const struct fake_dex *d, uint32_t proto);
const char *fake_dex_signature(struct fake_dex *d, uint32_t proto); /* with the classes' lock held */

/* Returns the members of a type list; *count is their number. NULL for offset 0. */
const uint16_t *fake_dex_type_list(const struct fake_dex *d, uint32_t offset, uint32_t *count);

/* Return the structure at an offset, or NULL when it is 0 or does not fit in the file. */
const struct fake_dex_code *fake_dex_code(const struct fake_dex *d, uint32_t offset);
const struct fake_dex_try *fake_dex_tries(const struct fake_dex_code *code);
/* Returns the encoded handlers of a try. */
struct fake_dex_reader fake_dex_handlers(const struct fake_dex *d, const struct fake_dex_code *code,
                                         const struct fake_dex_try *t);

/* Returns true when a method has an annotation with that descriptor. */
bool fake_dex_annotated(const struct fake_dex *d, const struct fake_dex_class *class, uint32_t method,
                        const char *descriptor);

#endif
