// SPDX-License-Identifier: GPL-2.0
/*
 * The smallest program: one half of it.
 * It is what the recipe in the documentation links.
 */
#include <stdio.h>

int test(int value);

int main(void)
{
	printf("%d\n", test(40));
	return 0;
}
