/*
 * Describes settings for a form: sections of fields with their types, defaults and texts. Types and
 * defaults come from the tables that read settings; the texts are here.
 */
#ifndef DEFT_MODEL_AGENT_SETTINGS_SCHEMA_H
#define DEFT_MODEL_AGENT_SETTINGS_SCHEMA_H

#include <jansson.h>

#include "base/attr.h"

/* Returns {"model_name", "sections"} of agent settings. model: default of an LLM without one. */
json_t *settings_schema_of_agent(const char *model) NONNULL MUST_CHECK;
/* As above, for conversation settings. */
json_t *settings_schema_of_conversation(void) MUST_CHECK;

#endif
