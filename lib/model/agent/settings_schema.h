/*
 * The settings described for a form: sections of fields with their types, defaults and words. Types
 * and defaults come from the tables that read settings; words stand here.
 */
#ifndef DEFT_MODEL_AGENT_SETTINGS_SCHEMA_H
#define DEFT_MODEL_AGENT_SETTINGS_SCHEMA_H

#include <jansson.h>

#include "base/attr.h"

/* {"model_name", "sections"} of agent settings. model: what a LLM gets that names none. */
json_t *agent_settings_schema(const char *model) NONNULL MUST_CHECK;
/* The same of conversation settings. */
json_t *conversation_settings_schema(void) MUST_CHECK;

#endif
