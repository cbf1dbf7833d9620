/* Damaged logs of RheaTrace and of profilo: with any bytes, reading and repairing end in a status, without a crash,
 * a hang or a read out of bounds. The calls read are in order, and nest after the repair. The input is the log. */
#include "engine/base/error.h"
#include "engine/trace/import/rhea/profilo_text.h"
#include "engine/trace/import/rhea/rhea_read.h"
#include "engine/trace/model/calls_repair.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int ok)
{
    if (!ok)
        abort();
}

static void check_order(const struct strobe_calls *calls)
{
    for (size_t i = 0; i < calls->thread_count; i++) {
        const struct strobe_calls_thread *t = &calls->threads[i];
        for (size_t k = 0; k < t->call_count; k++) {
            must(!k || t->calls[k - 1].time_ns <= t->calls[k].time_ns);
            must(t->calls[k].time_ns >= calls->begin_ns && t->calls[k].time_ns <= calls->end_ns);
            must(t->calls[k].name == STROBE_CALL_ANY || t->calls[k].name < calls->names.count);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_calls calls;
    struct strobe_rhea_read_stats stats;
    struct strobe_profilo_stats other;
    const char *text = (const char *)data;
    struct strobe_error error = {""};
    strobe_calls_open(&calls);
    enum strobe_status status = strobe_profilo_is(text, bytes)
                                    ? strobe_profilo_read(text, bytes, &calls, &other, &error)
                                    : strobe_rhea_read(text, bytes, &calls, &stats, &error);
    if (status == STROBE_OK) {
        check_order(&calls);
        must(strobe_calls_repair(&calls, bytes & 1 ? STROBE_REPAIR_LAST : STROBE_REPAIR_ENCLOSING, NULL) == STROBE_OK);
        check_order(&calls);
    } else {
        must(error.text[0] != 0);
    }
    strobe_calls_close(&calls);
    return 0;
}
