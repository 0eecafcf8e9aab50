/*
 * Key names in the terminal tool's input: C-a to C-z (also CTRL-c, CTRL+c), ENTER, TAB, BS, ESC,
 * UP, DOWN, LEFT, RIGHT, HOME, END, PGUP, PGDN.
 */
#ifndef DEFT_SANDBOX_TERMINAL_TERMINAL_KEYS_H
#define DEFT_SANDBOX_TERMINAL_TERMINAL_KEYS_H

#include "base/attr.h"

/* The bytes sent by the key with that name, case-insensitive; NULL for other text. Static. */
const char *terminal_key_bytes(const char *text) NONNULL MUST_CHECK;
/* The upper-case letter of C-x and its other spellings, or '\0'. */
char terminal_key_control_letter(const char *text) NONNULL MUST_CHECK;

#endif
