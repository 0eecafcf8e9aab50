/*
 * A line of Markdown as plain text: for titles, which nobody renders.
 *
 * Threading: pure.
 * Source:    CommonMark 0.31, sections 4 and 6, as far as a line by itself tells.
 */
#ifndef DEFT_MODEL_PLAIN_LINE_H
#define DEFT_MODEL_PLAIN_LINE_H

#include <stddef.h>

#include "base/attr.h"

struct strbuf;

/* Of a longer line the rest is not looked at. */
enum { PLAIN_LINE_MAX_BYTES = 2000 };

/*
 * Appends the words of a line without the marks of headings, quotations, lists, emphasis, code,
 * links and images; nothing for a line that only draws, such as a fence or a rule. Text that merely
 * looks like a mark stays: 2 * 3, *.c, snake_case, #12.
 */
void plain_line_append(struct strbuf *out, const char *line, size_t len) NONNULL;

#endif
