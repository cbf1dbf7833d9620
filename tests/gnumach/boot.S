/* Where the bootstrap task begins, and its traps: the number in eax, then a far call into the kernel by gate 7
 * (mach/i386/syscall_sw.h). Arguments lie on the stack, as for a C function. */
        .text
        .globl  _start
_start: xorl    %ebp, %ebp              /* outermost frame */
        movl    %esp, %eax              /* argc, argv[0], ..., 0 */
        andl    $-16, %esp
        subl    $12, %esp
        pushl   %eax
        call    task_begin

        .macro  trap name, number
        .globl  \name
\name:  movl    $\number, %eax
        lcall   $7, $0
        ret
        .endm

        trap    mach_msg_trap, -25
        trap    mach_reply_port, -26
        trap    mach_thread_self, -27
        trap    mach_task_self, -28
        trap    mach_print, -30
        trap    thread_switch, -61

        .section .note.GNU-stack, "", @progbits
