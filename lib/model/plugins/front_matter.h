/*
 * The head of a Markdown file: lines between two "---", in the part of YAML that such heads use:
 * texts (plain, quoted, folded, literal), lists (inline and with dashes), true and false. Maps
 * within are passed over.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_PLUGINS_FRONT_MATTER_H
#define DEFT_MODEL_PLUGINS_FRONT_MATTER_H

#include <jansson.h>

#include "base/attr.h"

struct error;

/*
 * The head as an object of texts, booleans and lists of texts; empty when there is none. *body_out
 * is where the rest of the text begins. A new reference in *head_out. ERROR_INVALID for a text that
 * is not UTF-8: it has no names.
 */
int front_matter_read(const char *text, json_t **head_out, const char **body_out,
                      struct error *err) NONNULL MUST_CHECK;

#endif
