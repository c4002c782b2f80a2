/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program of exact sizes: TEXT bytes of text, RODATA and DATA bytes of data,
 * RELRO bytes of what is read only after relocation, no start files.
 * Ends with status 42 when the last byte of each is there.
 */
	.text
	.globl	_start
_start:
	movzbl	last_text(%rip), %eax
	movzbl	last_rodata(%rip), %ecx
	add	%ecx, %eax
	movzbl	last_relro(%rip), %ecx
	add	%ecx, %eax
	movzbl	last_data(%rip), %ecx
	add	%ecx, %eax
	mov	%eax, %edi
	mov	$60, %eax
	syscall
	hlt
	.fill	TEXT - 1 - (. - _start), 1, 0xcc
last_text:
	.byte	12

	.section .rodata, "a", @progbits
	.fill	RODATA - 1
last_rodata:
	.byte	10

	.section .data.rel.ro, "aw", @progbits
	.fill	RELRO - 1
last_relro:
	.byte	10

	.data
	.fill	DATA - 1
last_data:
	.byte	10

	.section .note.GNU-stack, "", @progbits
