/* The function of the stand-in's library that calls its stub. It notes where it returns to. */
void armv7_stub(void *code, void (*inner)(void), void *place);
int armv7_invoke(void *code, void (*inner)(void), void *place);

void *armv7_returns_to;

int armv7_invoke(void *code, void (*inner)(void), void *place)
{
    volatile char room[300];
    room[7] = 1;
    armv7_returns_to = __builtin_return_address(0);
    armv7_stub(code, inner, place);
    return room[7];
}
