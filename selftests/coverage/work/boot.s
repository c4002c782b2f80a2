# SPDX-License-Identifier: GPL-2.0
# boot - a boot sector: adds up the primes below 1000 and says so over the first
# serial port.
	.code16
	.globl	_start
_start:
	xorw	%ax, %ax
	movw	%ax, %ds
	movw	%ax, %ss
	movw	$0x7c00, %sp
	cld
	xorl	%ebp, %ebp
	movl	$2, %ecx
next:
	movl	$2, %ebx
divide:
	movl	%ebx, %eax
	mull	%ebx
	cmpl	%ecx, %eax
	ja	prime
	xorl	%edx, %edx
	movl	%ecx, %eax
	divl	%ebx
	testl	%edx, %edx
	jz	composite
	incl	%ebx
	jmp	divide
prime:
	addl	%ecx, %ebp
composite:
	incl	%ecx
	cmpl	$1000, %ecx
	jb	next

	movw	$words, %si
	call	say
	movl	%ebp, %eax
	movw	$digits_end, %si
	movl	$10, %ebx
digit:
	xorl	%edx, %edx
	divl	%ebx
	addb	$'0', %dl
	decw	%si
	movb	%dl, (%si)
	testl	%eax, %eax
	jnz	digit
	call	say
halt:
	hlt
	jmp	halt

# The string at %si, up to a zero.
say:
	lodsb
	testb	%al, %al
	jz	said
	movb	%al, %ah
	movw	$0x3fd, %dx
full:
	inb	%dx, %al
	testb	$0x20, %al
	jz	full
	movw	$0x3f8, %dx
	movb	%ah, %al
	outb	%al, %dx
	jmp	say
said:
	ret

words:	.asciz	"primes "
digits:	.skip	10
digits_end:
	.asciz	"\ndone\n"

	.org	510
	.word	0xaa55
