/*
 * The front matter of a Markdown file: YAML between two lines "---". Each entry is parsed by
 * itself; one that is not YAML has the rest of its line as its value.
 *
 * Threading: no state.
 * Decision: docs/decisions/0067-front-matter.md
 */
#ifndef DEFT_MODEL_PLUGINS_FRONT_MATTER_H
#define DEFT_MODEL_PLUGINS_FRONT_MATTER_H

#include <jansson.h>

#include "base/attr.h"

struct error;

/*
 * Reads the front matter as an object of strings, booleans and lists of these; empty if there is
 * none. A mapping, or no value, gives an empty list; aliases and deep nesting count as no YAML.
 * *body_out points to the rest of the text. A new reference in *head_out. ERROR_INVALID if the text
 * is not UTF-8, ERROR_TOO_LARGE if the front matter is over 64 KiB.
 */
int front_matter_read(const char *text, json_t **head_out, const char **body_out,
                      struct error *err) NONNULL MUST_CHECK;

#endif
