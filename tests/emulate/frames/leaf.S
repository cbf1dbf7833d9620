/* Functions as they are written by hand. */
#ifdef __APPLE__
#define NAME(n) _##n
#else
#define NAME(n) n
#endif

    .text
    .space 4096          /* no code in the first page, whose addresses are none */

    .globl NAME(set_finish)
    .p2align 2
NAME(set_finish):
    brk #1

/* Nothing but work. */
    .globl NAME(set_leaf)
    .p2align 2
NAME(set_leaf):
    add x0, x0, x0, lsl #3
    cbz x0, 1f
    eor x0, x0, x0, lsr #7
1:  ret

/* Keeps registers on the stack, x30 among them, and computes in it; its frame pointer is its caller's. */
    .globl NAME(set_leaf_saves)
    .p2align 2
NAME(set_leaf_saves):
    sub sp, sp, #64
    stp x20, x19, [sp, #32]
    stp x29, x30, [sp, #48]
    mov w30, #5
    mul x19, x0, x30
    add x30, x19, x0
    str x30, [sp, #8]
    add x0, x30, #1
    ldp x29, x30, [sp, #48]
    ldp x20, x19, [sp, #32]
    add sp, sp, #64
    ret

/* Its record lies between other registers. */
    .globl NAME(set_record_in_the_middle)
    .p2align 2
NAME(set_record_in_the_middle):
1:
    stp x22, x21, [sp, #-16]!
    sub sp, sp, #1, lsl #12
    sub sp, sp, #48
    stp x20, x19, [sp, #32]
    stp x29, x30, [sp, #16]
    mov x19, x0
    add x29, sp, #16
    bl NAME(set_leaf)
    add x0, x0, x19
    ldp x29, x30, [sp, #16]
    ldp x20, x19, [sp, #32]
    add sp, sp, #48
    add sp, sp, #1, lsl #12
    ldp x22, x21, [sp], #16
    ret

/* As linkage stubs do. */
    .globl NAME(set_jumps_through_stub)
    .p2align 2
NAME(set_jumps_through_stub):
    adr x16, 1b
    add x0, x0, #1
    br x16

/* As code does that was made smaller: x30 is put aside for a call of a helper. */
    .globl NAME(set_lends_link)
    .p2align 2
NAME(set_lends_link):
    add x0, x0, #3
    mov x15, x30
    bl NAME(set_leaf)
    mov x30, x15
    tbz x0, #0, 2f
    str x30, [sp, #-16]!
    bl NAME(set_leaf)
    ldr x30, [sp], #16
2:  ret
