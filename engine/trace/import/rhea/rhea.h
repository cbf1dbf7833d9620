/* Includes the readers of RheaTrace's files for the rest of the engine: the raw log, the packet ring's file, and
 * profilo's text. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_RHEA_RHEA_H
#define STROBE_TRACE_IMPORT_RHEA_RHEA_H

#include "engine/trace/import/rhea/profilo_text.h"
#include "engine/trace/import/rhea/rhea_read.h"
#include "engine/trace/import/rhea/rhea_ring.h"

#endif
