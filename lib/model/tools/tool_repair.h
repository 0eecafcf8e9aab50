/*
 * What models get wrong in tool calls, put right where the meaning is plain.
 */
#ifndef DEFT_MODEL_TOOLS_TOOL_REPAIR_H
#define DEFT_MODEL_TOOLS_TOOL_REPAIR_H

#include <jansson.h>

#include "base/attr.h"

struct conversation;
struct shape;
struct strbuf;
struct tool;

/*
 * The tool that a call means: by its name, by the name's leading identifier, by a word that models
 * use for it. arguments may get a command that stands in the name. NULL: unknown.
 */
const struct tool *tool_repair_name(const struct conversation *conversation, const char *name,
                                    json_t *arguments) NONNULL MUST_CHECK;
/*
 * Parses the arguments, also where they hold raw control characters. A new reference to an object;
 * NULL when they are no JSON. *text_out gets the text to keep, which always is a JSON object.
 */
json_t *tool_repair_parse(const char *arguments, struct strbuf *text_out) NONNULL MUST_CHECK;
/* Misspelt members, nulls, lists and objects sent as text, texts sent as lists; a file_editor
 * command that only its other members tell. */
void tool_repair_arguments(const struct tool *tool, json_t *arguments) NONNULL;

#endif
