/* The switch of fibers on x86-64 (System V ABI): rbx, rbp, r12-r15, and the control words of SSE and x87.
 *
 * Loading a control word costs more than the rest of the switch when it changes any bit, even a status flag. A callee
 * need not preserve status flags, so the words are loaded only when their control bits differ.
 *
 * The exit is a jump instead of a return: the processor would always mispredict a return into another fiber. */
#if defined(__x86_64__) && defined(__ELF__)
    .text

/* void sim_fiber_swap(void **from_sp, void *to_sp) */
    .globl sim_fiber_swap
    .hidden sim_fiber_swap
    .type sim_fiber_swap, @function
    .p2align 4
sim_fiber_swap:
    .cfi_startproc
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $8, %rsp
    .cfi_def_cfa_offset 64
    stmxcsr (%rsp)
    fnstcw 4(%rsp)
    movl (%rsp), %eax
    movzwl 4(%rsp), %edx
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    xorl (%rsp), %eax
    xorw 4(%rsp), %dx
    andl $0xffc0, %eax
    orl %edx, %eax
    jnz 2f
1:  addq $8, %rsp
    .cfi_remember_state
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    .cfi_def_cfa_offset 8
    popq %rcx
    .cfi_def_cfa_offset 0
    .cfi_register %rip, %rcx
    jmp *%rcx
2:  .cfi_restore_state
    ldmxcsr (%rsp)
    fldcw 4(%rsp)
    jmp 1b
    .cfi_endproc
    .size sim_fiber_swap, . - sim_fiber_swap

/* Entry of a new fiber: r12 is the argument, r13 the function to call. It has no caller. */
    .globl sim_fiber_begin
    .hidden sim_fiber_begin
    .type sim_fiber_begin, @function
    .p2align 4
sim_fiber_begin:
    .cfi_startproc
    .cfi_undefined %rip
    movq %r12, %rdi
    call *%r13
    ud2
    .cfi_endproc
    .size sim_fiber_begin, . - sim_fiber_begin
#endif
#if defined(__ELF__)
    .section .note.GNU-stack, "", %progbits
#endif
