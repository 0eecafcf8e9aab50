/*
 * A text with parts and named values, as a file of the catalogue has it:
 *
 *     The text itself; {{name}} is replaced by the value of that name.
 *
 *     @@ part
 *     The text of that part.
 *
 * Line ends at the beginning and end of a part are not part of it. A value is not expanded again.
 *
 * Ownership: text_template_done() releases the parts.
 * Threading: immutable once read.
 * Decision:  docs/decisions/0080-texts-and-models-as-data.md
 */
#ifndef DEFT_MODEL_CATALOGUE_TEXT_TEMPLATE_H
#define DEFT_MODEL_CATALOGUE_TEXT_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct error;
struct strbuf;
struct text_file;

struct text_part {
    char *name; /* "" for the text before the first part */
    char *text;
};

struct text_template {
    struct text_part *parts;
    size_t n;
};

/* What a file may have; lists are "a|b", NULL for none. */
struct text_rules {
    const char *parts;    /* required */
    const char *optional; /* parts that may be missing */
    const char *values;
    bool has_only_parts; /* no text before the first part; else it is required */
};

struct text_value {
    const char *name;
    const char *text;
};

void text_template_done(struct text_template *template);
/* ERROR_INVALID, with "path:line: …", for an unknown, repeated, missing or empty part, an unknown
 * value, and a "{{" without its end. On failure *template_out is as it was. */
int text_template_read(const struct text_file *file, const struct text_rules *rules,
                       struct text_template *template_out, struct error *err) NONNULL MUST_CHECK;
/* The text of a part as it is in the file, "" for one that was left out. */
const char *text_template_part(const struct text_template *template,
                               const char *part) NONNULL MUST_CHECK;
/* Appends the part with its values filled in; one that is not given is empty. */
void text_template_append(const struct text_template *template, const char *part,
                          const struct text_value *values, size_t n_values, struct strbuf *out)
    __attribute__((nonnull(1, 2, 5)));

#endif
