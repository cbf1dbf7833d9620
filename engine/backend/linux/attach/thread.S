/* The helper's start routine. It calls strobe_attach_run and then jumps to dlclose with the handle that this returns.
 * dlclose unloads this code, and returns to the C library's function that called the start routine. */
#if defined(__x86_64__)

        .text
        .globl  strobe_attach_thread
        .hidden strobe_attach_thread
        .type   strobe_attach_thread, @function
strobe_attach_thread:
        .cfi_startproc
        endbr64
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    strobe_attach_run@PLT
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        testq   %rax, %rax
        jz      1f
        movq    %rax, %rdi
        movq    strobe_attach_dlclose@GOTPCREL(%rip), %rax
        jmpq    *(%rax)
1:      ret
        .cfi_endproc
        .size   strobe_attach_thread, . - strobe_attach_thread

#elif defined(__aarch64__)

        .text
        .globl  strobe_attach_thread
        .hidden strobe_attach_thread
        .type   strobe_attach_thread, %function
strobe_attach_thread:
        .cfi_startproc
        stp     x29, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        bl      strobe_attach_run
        ldp     x29, x30, [sp], #16
        .cfi_adjust_cfa_offset -16
        .cfi_restore x29
        .cfi_restore x30
        cbz     x0, 1f
        adrp    x16, strobe_attach_dlclose
        ldr     x16, [x16, :lo12:strobe_attach_dlclose]
        br      x16
1:      ret
        .cfi_endproc
        .size   strobe_attach_thread, . - strobe_attach_thread

#else
#error "the helper's start routine is not written for this machine"
#endif

        .section .note.GNU-stack, "", %progbits
