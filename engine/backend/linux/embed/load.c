/* Constructor of libstrobe-capture, which a program links. It prepares the main thread for strobe_start, and starts no
 * capture. */
#include "engine/backend/linux/preload/preload.h"
#include "engine/backend/linux/preload/real.h"

__attribute__((constructor)) static void prepare_for_start(void)
{
    strobe_real();
    strobe_preload_note_stack(true);
    strobe_preload.may_start = true;
}
