/*
 * The front matter of a Markdown file: lines between two "---", in the YAML subset used there:
 * strings (plain, quoted, folded, literal), lists (flow and block), true and false. Nested maps are
 * skipped.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_PLUGINS_FRONT_MATTER_H
#define DEFT_MODEL_PLUGINS_FRONT_MATTER_H

#include <jansson.h>

#include "base/attr.h"

struct error;

/*
 * Reads the front matter as an object of strings, booleans and lists of strings; empty if there is
 * none. *body_out points to the rest of the text. A new reference in *head_out. ERROR_INVALID if
 * the text is not UTF-8.
 */
int front_matter_read(const char *text, json_t **head_out, const char **body_out,
                      struct error *err) NONNULL MUST_CHECK;

#endif
