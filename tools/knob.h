/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing the module's knobs.
 */
#ifndef HUGETEXT_KNOB_H
#define HUGETEXT_KNOB_H

/* Writes hugetext_enabled, reads it back and says so. Returns an exit code. */
int set_enabled(unsigned int value);

/* Says why a knob could not be written. Returns HUGETEXT_TROUBLE. */
int complain_unwritable(const char *knob, int error);

#endif /* HUGETEXT_KNOB_H */
