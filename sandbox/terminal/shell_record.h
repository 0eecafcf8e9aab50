/*
 * The records that a shell writes on its pipe at the end of each command: five fields, each ended
 * by NUL. The first is "nonce;number"; what does not begin so is skipped.
 */
#ifndef DEFT_SANDBOX_TERMINAL_SHELL_RECORD_H
#define DEFT_SANDBOX_TERMINAL_SHELL_RECORD_H

#include <stdbool.h>

#include "base/attr.h"

struct shell_record;
struct strbuf;

/*
 * Finds the next complete record of that key in the bytes and removes it with all before it. The
 * texts of *record_out are copied to *kept. False when there is none yet.
 */
bool shell_record_next(struct strbuf *bytes, const char *key, struct strbuf *kept,
                       struct shell_record *record_out) NONNULL MUST_CHECK;

#endif
