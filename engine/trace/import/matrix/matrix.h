/* Includes the readers of Matrix's files for the rest of the engine: the log's entries, raw dumps and events, the
 * mapping of ids to methods, and the stacks that reports show. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_MATRIX_MATRIX_H
#define STROBE_TRACE_IMPORT_MATRIX_MATRIX_H

#include "engine/method/matrix/matrix_entry.h"
#include "engine/trace/import/matrix/matrix_events.h"
#include "engine/trace/import/matrix/matrix_map.h"
#include "engine/trace/import/matrix/matrix_raw.h"
#include "engine/trace/import/matrix/matrix_stack.h"

#endif
