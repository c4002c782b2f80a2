// SPDX-License-Identifier: GPL-2.0
/*
 * The smallest program: the other half of it.
 * In a file of its own, so that there is something to link.
 */
static int added = 2;

int test(int value);

int test(int value)
{
	return value + added;
}
