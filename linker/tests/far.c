// SPDX-License-Identifier: GPL-2.0
/*
 * Data of the medium and large code models, which goes into sections of its
 * own: .lrodata, .ldata and .lbss.
 */
#include "mapping.h"

#define NUMBERS	400000

const int far_const[NUMBERS] = { [0] = 1, [NUMBERS - 1] = 20 };
int far_data[NUMBERS] = { [0] = 300, [NUMBERS - 1] = 4000 };
int far_zero[NUMBERS];
static int near_data = 50000;
static int near_zero;

static long sum_of(const volatile int *numbers)
{
	long sum = 0;
	int i;

	for (i = 0; i < NUMBERS; i++)
		sum += numbers[i];
	return sum;
}

int main(void)
{
	far_zero[NUMBERS - 1] += near_zero;
	printf("sum %ld\n", sum_of(far_const) + sum_of(far_data) + sum_of(far_zero) + near_data);
	printf("far_const %s far_data %s far_zero %s\n", mapping_of(far_const).permissions,
	       mapping_of(far_data).permissions, mapping_of(far_zero).permissions);
	return 0;
}
