/*
 * Splits shell text into statements, to detect several of them on separate lines: heredocs, loops,
 * functions, quoted newlines and continued lines are one statement.
 * Decision: docs/decisions/0059-shell-statements.md
 */
#ifndef DEFT_SANDBOX_TERMINAL_SHELL_SPLIT_H
#define DEFT_SANDBOX_TERMINAL_SHELL_SPLIT_H

#include <stddef.h>

#include "base/attr.h"

enum { SHELL_STATEMENTS_MAX = 64 };

struct shell_statement {
    const char *text; /* points into the text given */
    size_t len;
};

/*
 * Splits a text into its top-level statements; comments join the previous one. Returns their
 * number, at most SHELL_STATEMENTS_MAX. A text that no shell would accept is one statement.
 */
size_t shell_split(const char *text,
                   struct shell_statement statements[SHELL_STATEMENTS_MAX]) NONNULL MUST_CHECK;

#endif
