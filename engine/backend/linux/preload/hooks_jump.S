/* Hooks that must not add a C frame between the program and the real function.
 *
 *   vfork    returns twice, the second time on a stack that the child has used. The hook keeps the return address in a
 *            register over the call. The child shares the parent's memory and runs as the parent's thread, so hooks
 *            stay off on this thread until the parent continues
 *   dlopen   reads its return address to find the caller, whose library paths apply. The hook jumps to it and does not
 *            call it
 *   syscall  makes the call itself, as the C library's does, except for the numbers that hooks_syscall.c handles */
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
        leaq    24(%rsp), %rdi          /* address of the return address */
        movq    %rbp, %rsi
        call    strobe_dlopen_begins@PLT
        addq    $8, %rsp
        popq    %rsi
        popq    %rdi
        jmp     *%rax
        .size   dlopen, . - dlopen

        .globl  syscall
        .type   syscall, @function
syscall:
        .cfi_startproc
        endbr64
        cmpq    $59, %rdi               /* SYS_execve */
        je      2f
        cmpq    $60, %rdi               /* SYS_exit */
        je      2f
        cmpq    $231, %rdi              /* SYS_exit_group */
        je      2f
        cmpq    $317, %rdi              /* SYS_seccomp */
        je      2f
        cmpq    $157, %rdi              /* SYS_prctl */
        je      2f
        .globl  strobe_syscall_raw
        .hidden strobe_syscall_raw
        .type   strobe_syscall_raw, @function
strobe_syscall_raw:
        movq    %rdi, %rax
        movq    %rsi, %rdi
        movq    %rdx, %rsi
        movq    %rcx, %rdx
        movq    %r8, %r10
        movq    %r9, %r8
        movq    8(%rsp), %r9
        syscall
        cmpq    $-4095, %rax
        jae     1f
        ret
1:      negl    %eax
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        call    __errno_location@PLT
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        movl    %ecx, (%rax)
        movq    $-1, %rax
        ret
2:      jmp     strobe_syscall_watched
        .cfi_endproc
        .size   syscall, . - syscall

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
        add     x0, sp, #8              /* address of the return address */
        mov     x1, x29
        bl      strobe_dlopen_begins
        mov     x16, x0
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        br      x16
        .size   dlopen, . - dlopen

        .globl  syscall
        .type   syscall, %function
syscall:
        .cfi_startproc
        cmp     x0, #221                /* SYS_execve */
        b.eq    2f
        cmp     x0, #93                 /* SYS_exit */
        b.eq    2f
        cmp     x0, #94                 /* SYS_exit_group */
        b.eq    2f
        cmp     x0, #277                /* SYS_seccomp */
        b.eq    2f
        cmp     x0, #167                /* SYS_prctl */
        b.eq    2f
        .globl  strobe_syscall_raw
        .hidden strobe_syscall_raw
        .type   strobe_syscall_raw, %function
strobe_syscall_raw:
        mov     x8, x0
        mov     x0, x1
        mov     x1, x2
        mov     x2, x3
        mov     x3, x4
        mov     x4, x5
        mov     x5, x6
        svc     #0
        cmn     x0, #4095
        b.hs    1f
        ret
1:      neg     x0, x0
        stp     x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str     x0, [sp, #16]
        bl      __errno_location
        ldr     x1, [sp, #16]
        str     w1, [x0]
        mov     x0, #-1
        ldp     x29, x30, [sp], #32
        .cfi_adjust_cfa_offset -32
        .cfi_restore x29
        .cfi_restore x30
        ret
2:      b       strobe_syscall_watched
        .cfi_endproc
        .size   syscall, . - syscall

#else
#error "vfork and dlopen hooks are not written for this machine"
#endif

        .section .note.GNU-stack, "", %progbits
