/* Two hooks that must not stand between the program and the function as a C frame would.
 *
 * vfork   returns twice, the second time on a stack that the child has used: the return address is kept in a register
 *         over the call. The child shares our memory and runs as if it were its parent's thread, so hooks are kept off
 *         on this thread until the parent goes on.
 * dlopen  looks at its return address to tell who calls, and so which library paths apply: it is jumped to, not called.
 */
#if defined(__x86_64__)

        .text
        .globl  vfork
        .type   vfork, @function
vfork:
        endbr64
        subq    $8, %rsp
        call    strobe_vfork_begins@PLT
        addq    $8, %rsp
        popq    %rdi                    /* return address; the kernel keeps rdi */
        movl    $58, %eax               /* SYS_vfork */
        syscall
        pushq   %rdi
        testq   %rax, %rax
        jz      1f                      /* the child: hooks stay off */
        pushq   %rax
        movq    %rax, %rdi
        call    strobe_vfork_ends@PLT   /* returns the pid, or -1 with errno set; restores the hooks */
        popq    %rcx
1:      ret
        .size   vfork, . - vfork

        .globl  dlopen
        .type   dlopen, @function
dlopen:
        endbr64
        pushq   %rdi
        pushq   %rsi
        subq    $8, %rsp
        leaq    24(%rsp), %rdi          /* where our return address is */
        movq    %rbp, %rsi
        call    strobe_dlopen_begins@PLT
        addq    $8, %rsp
        popq    %rsi
        popq    %rdi
        jmp     *%rax
        .size   dlopen, . - dlopen

#elif defined(__aarch64__)

        .text
        .globl  vfork
        .type   vfork, %function
vfork:
        stp     x29, x30, [sp, #-16]!
        bl      strobe_vfork_begins
        ldp     x29, x30, [sp], #16
        mov     x0, #0x4111             /* CLONE_VM | CLONE_VFORK | SIGCHLD */
        mov     x1, #0
        mov     x8, #220                /* SYS_clone */
        svc     #0
        cbz     x0, 1f
        stp     x29, x30, [sp, #-16]!
        bl      strobe_vfork_ends
        ldp     x29, x30, [sp], #16
1:      ret
        .size   vfork, . - vfork

        .globl  dlopen
        .type   dlopen, %function
dlopen:
        stp     x29, x30, [sp, #-32]!
        stp     x0, x1, [sp, #16]
        add     x0, sp, #8              /* where our return address is */
        mov     x1, x29
        bl      strobe_dlopen_begins
        mov     x16, x0
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        br      x16
        .size   dlopen, . - dlopen

#else
#error "vfork and dlopen hooks are not written for this machine"
#endif

        .section .note.GNU-stack, "", %progbits
