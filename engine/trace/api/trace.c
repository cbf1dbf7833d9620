#include "engine/include/strobe/trace.h"

#include "engine/base/error_format.h"
#include "engine/trace/export/convert.h"

#include <errno.h>
#include <stdlib.h>

enum strobe_status strobe_trace_write(const char *session_path, const char *trace_path,
                                      const struct strobe_trace_options *options, struct strobe_error *error)
{
    static const struct strobe_trace_options none = {.format = STROBE_FORMAT_PERFETTO};
    const struct strobe_trace_options *o = options ? options : &none;
    if ((unsigned)o->format > STROBE_FORMAT_FIREFOX) {
        strobe_error_set(error, "format: expected a value of enum strobe_format, not %u", (unsigned)o->format);
        return STROBE_BAD_INPUT;
    }
    if (o->to_ns && o->to_ns <= o->from_ns) {
        strobe_error_set(error, "to_ns: expected 0 or a time after from_ns");
        return STROBE_BAD_INPUT;
    }
    struct strobe_convert_options how = {.format = o->format,
                                         .symbols = o->inlines ? STROBE_SYMBOLS_INLINES : 0,
                                         .deflate = o->deflate,
                                         .replace = o->replace,
                                         .from_ns = o->from_ns,
                                         .to_ns = o->to_ns};
    struct strobe_convert_stats *stats = malloc(sizeof *stats); /* too large for a small stack of the caller */
    if (!stats) {
        strobe_error_join(error, session_path, "out of memory");
        return STROBE_NO_MEMORY;
    }
    enum strobe_status status = strobe_convert(session_path, trace_path, &how, stats, error);
    free(stats);
    return status == STROBE_IO && errno == ENOMEM ? STROBE_NO_MEMORY : status;
}
