/* Result codes of engine functions, which the public API defines. The engine returns errors as values: it does not
 * print, exit or abort because of an error. It aborts only when an invariant is broken. Any context. */
#ifndef STROBE_BASE_STATUS_H
#define STROBE_BASE_STATUS_H

#include "engine/include/strobe/status.h"

#endif
