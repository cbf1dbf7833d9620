/* void *fake_rooted(void *(*run)(void *), void *arg): calls run(arg) as the outermost frame, like the begin of a
 * Darwin thread. The frames further out belong to this machine's C library, which keeps no frame pointers. Unwinders
 * that use call frame tables can pass this function. */
#if defined(__x86_64__)
    .text
    .globl fake_rooted
    .hidden fake_rooted
    .type fake_rooted, @function
    .p2align 4
fake_rooted:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    xorl %ebp, %ebp
    movq %rdi, %rax
    movq %rsi, %rdi
    call *%rax
    popq %rbp
    .cfi_def_cfa_offset 8
    .cfi_restore %rbp
    ret
    .cfi_endproc
    .size fake_rooted, . - fake_rooted
#elif defined(__aarch64__)
    .text
    .globl fake_rooted
    .hidden fake_rooted
    .type fake_rooted, %function
    .p2align 4
fake_rooted:
    .cfi_startproc
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x9, x0
    mov x0, x1
    mov x29, #0
    blr x9
    ldp x29, x30, [sp], #16
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
    .size fake_rooted, . - fake_rooted
#endif
    .section .note.GNU-stack, ""
