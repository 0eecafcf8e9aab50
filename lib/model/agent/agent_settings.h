/*
 * A user's settings in their wire format: the parts of a new agent, and the page's defaults for new
 * conversations. Reading fills in every default, so stored settings stay readable when a default is
 * added.
 */
#ifndef DEFT_MODEL_AGENT_AGENT_SETTINGS_H
#define DEFT_MODEL_AGENT_AGENT_SETTINGS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct conversation_defaults;
struct json_path;
struct object_schema;

enum { AGENT_SETTINGS_VERSION = 9, AGENT_PROFILE_VERSION = 4 };

/* The tables, see settings_fields.c. */
extern const struct object_schema openhands_settings_schema;
extern const struct object_schema acp_settings_schema;
extern const struct object_schema conversation_settings_schema;
extern const struct object_schema mcp_server_schema;
extern const struct object_schema settings_condenser_schema;
extern const struct object_schema settings_verification_schema;
extern const struct object_schema profile_verification_schema; /* without the key */

/*
 * Reads agent settings of either agent_kind, fills in all defaults and converts retired switches.
 * Secrets are left in place. Returns a new reference; errors are appended to problems.
 */
json_t *agent_settings_read(json_t *input, const struct conversation_defaults *defaults,
                            const struct json_path *path, json_t *problems) NONNULL MUST_CHECK;
/* As agent_settings_read(), for `conversation_settings`. */
json_t *conversation_settings_read(json_t *input, const struct json_path *path,
                                   json_t *problems) NONNULL MUST_CHECK;
/* As agent_settings_read(), for one server of mcp_config. */
json_t *mcp_server_read(json_t *input, const struct json_path *path,
                        json_t *problems) NONNULL MUST_CHECK;
/* Checks the ranges in condenser and verification sections that were read by their schemas. */
void settings_sections_check(json_t *settings, const struct json_path *path,
                             json_t *problems) NONNULL;

/*
 * Converts the switches of older clients in agent settings or an agent profile to tools: the
 * sub-agent switch adds or removes one, turning off LLM switching removes one.
 */
void retired_switches_fold(json_t *settings) NONNULL;
/* True if the tools include delegation to sub-agents. */
bool agent_has_children(const json_t *settings) NONNULL MUST_CHECK;
/* terminal, file_editor, task_tracker: the meaning of `tools: null`. Returns a new reference. */
json_t *standard_tools(void) MUST_CHECK;
/* True for agent_kind acp: an agent of another program, without an LLM of deft's. */
bool agent_settings_are_acp(const json_t *settings) NONNULL MUST_CHECK;

/* Merges change into base in place: objects by member, null removes, any other value replaces. */
void settings_merge(json_t *base, json_t *change) NONNULL;

#endif
