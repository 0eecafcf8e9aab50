/*
 * Repairs common errors of models in tool calls if the intent is unambiguous.
 */
#ifndef DEFT_MODEL_TOOLS_TOOL_REPAIR_H
#define DEFT_MODEL_TOOLS_TOOL_REPAIR_H

#include <jansson.h>

#include "base/attr.h"

struct strbuf;
struct tool;

/*
 * Parses the arguments, even with raw control characters in them. Returns a new reference to an
 * object; NULL if they are not JSON. *text_out gets the text to keep, always a JSON object.
 */
json_t *tool_repair_parse(const char *arguments, struct strbuf *text_out) NONNULL MUST_CHECK;
/* Repairs misspelled members, nulls, lists and objects sent as strings, strings sent as lists, and
 * a file_editor command that only its other members imply. */
void tool_repair_arguments(const struct tool *tool, json_t *arguments) NONNULL;

#endif
