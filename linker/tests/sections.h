/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the C half of the test program offers to the C++ half.
 * Each function prints what it found.
 */
#ifndef SECTIONS_H
#define SECTIONS_H

#ifdef __cplusplus
extern "C" {
#endif

void print_early(void);
void print_sets(void);
void print_ifunc(void);
void print_mappings(void);
void print_zeroes(void);

#ifdef __cplusplus
}
#endif

#endif /* SECTIONS_H */
