/*
 * Converts a line of Markdown to plain text, for titles, which are not rendered.
 *
 * Threading: pure.
 * Source:    CommonMark 0.31, sections 4 and 6, as far as a single line allows.
 */
#ifndef DEFT_MODEL_MARKDOWN_LINE_H
#define DEFT_MODEL_MARKDOWN_LINE_H

#include <stddef.h>

#include "base/attr.h"

struct strbuf;

/* The rest of a longer line is ignored. */
enum { MARKDOWN_LINE_MAX_BYTES = 2000 };

/*
 * Appends the text of a line without the markup of headings, quotations, lists, emphasis, code,
 * links and images; appends nothing for a line that is only markup, such as a fence or a rule. Text
 * that merely looks like markup is kept: 2 * 3, *.c, snake_case, #12.
 */
void markdown_line_append(struct strbuf *out, const char *line, size_t len) NONNULL;

#endif
