/* A library that calls the binder, like Android's libandroid_runtime: through its own slot, where tracers hook such
 * calls. The lab's command implements the called function. */
#include <stdint.h>

/* android::IPCThreadState::transact(int32_t handle, uint32_t code, const Parcel &, Parcel *, uint32_t flags). */
int32_t transact(void *state, int32_t handle, uint32_t code, const void *data, void *reply,
                 uint32_t flags) __asm__("_ZN7android14IPCThreadState8transactEijRKNS_6ParcelEPS1_j");

__attribute__((visibility("default"))) int32_t sim_call_binder(void *state);
int32_t sim_call_binder(void *state)
{
    return transact(state, 1, 1, 0, 0, 0);
}
