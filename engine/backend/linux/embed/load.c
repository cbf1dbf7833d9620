/* Start of libstrobe-capture: when the library is loaded as a part of a program. Nothing is captured yet. */
#include "engine/backend/linux/preload/preload.h"
#include "engine/backend/linux/preload/real.h"

__attribute__((constructor)) static void prepare_for_start(void)
{
    strobe_real();
    strobe_preload_note_stack(true);
    strobe_preload.may_start = true;
}
