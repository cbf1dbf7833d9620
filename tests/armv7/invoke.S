/* Stands in for the runtime's code that enters managed code. As AOSP's, it saves nine registers and has no unwind
 * directives.
 *
 *   armv7_stub(code, inner, place) calls code(inner, place) */
    .syntax unified
    .arch armv7-a
    .arm
    .text
    .globl armv7_stub
    .type armv7_stub, %function
armv7_stub:
    .fnstart
    push {r4-r11, lr}
    mov r11, sp
    sub sp, sp, #20
    mov ip, r0
    mov r0, r1
    mov r1, r2
    mov r7, #1              /* managed code uses all registers */
    blx ip
    mov sp, r11
    pop {r4-r11, pc}
    .fnend
    .size armv7_stub, . - armv7_stub
    .section .note.GNU-stack, "", %progbits
