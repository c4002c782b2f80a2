/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the shared library of the tests offers.
 */
#ifndef LIBRARY_H
#define LIBRARY_H

void throw_from_library(int value);
int count_in_library();
const char *library_text_mapping();

#endif /* LIBRARY_H */
