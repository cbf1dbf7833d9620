/* The switch of fibers on arm64 (AAPCS64): x19-x30, d8-d15, and the control word of floating-point. */
#if defined(__aarch64__) && defined(__ELF__)
    .text

/* void sim_fiber_swap(void **from_sp, void *to_sp) */
    .globl sim_fiber_swap
    .hidden sim_fiber_swap
    .type sim_fiber_swap, %function
    .p2align 4
sim_fiber_swap:
    .cfi_startproc
    sub sp, sp, #176
    .cfi_def_cfa_offset 176
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mrs x9, fpcr
    str x9, [sp, #160]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    ldr x9, [sp, #160]
    msr fpcr, x9
    add sp, sp, #176
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
    .size sim_fiber_swap, . - sim_fiber_swap

/* Entry of a new fiber: x19 is the argument, x20 the function to call. It has no caller. */
    .globl sim_fiber_begin
    .hidden sim_fiber_begin
    .type sim_fiber_begin, %function
    .p2align 4
sim_fiber_begin:
    .cfi_startproc
    .cfi_undefined x30
    mov x0, x19
    blr x20
    brk #1
    .cfi_endproc
    .size sim_fiber_begin, . - sim_fiber_begin
#endif
#if defined(__ELF__)
    .section .note.GNU-stack, "", %progbits
#endif
