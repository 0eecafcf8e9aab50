/*
 * A user's settings as the wire has them: what a new agent is made of, what the page offers for new
 * conversations. Reading fills in every default, so that what is stored stays readable when a
 * default is added.
 */
#ifndef DEFT_MODEL_AGENT_AGENT_SETTINGS_H
#define DEFT_MODEL_AGENT_AGENT_SETTINGS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct conversation_defaults;
struct place;
struct shape;

enum { AGENT_SETTINGS_VERSION = 9, AGENT_PROFILE_VERSION = 4 };

/* The tables, see settings_fields.c. */
extern const struct shape openhands_settings_shape;
extern const struct shape acp_settings_shape;
extern const struct shape conversation_settings_shape;
extern const struct shape mcp_server_shape;
extern const struct shape settings_condenser_shape;
extern const struct shape settings_verification_shape;
extern const struct shape profile_verification_shape; /* without the key */

/*
 * Agent settings (of either agent_kind) with all defaults, retired switches folded in. Secrets stay
 * where they are. A new reference; what is wrong is appended to problems.
 */
json_t *agent_settings_read(json_t *input, const struct conversation_defaults *defaults,
                            const struct place *place, json_t *problems) NONNULL MUST_CHECK;
/* As agent_settings_read(), for `conversation_settings`. */
json_t *conversation_settings_read(json_t *input, const struct place *place,
                                   json_t *problems) NONNULL MUST_CHECK;
/* One server of mcp_config. As agent_settings_read(). */
json_t *mcp_server_read(json_t *input, const struct place *place,
                        json_t *problems) NONNULL MUST_CHECK;
/* Range checks of a condenser and a verification section that were read by their shapes. */
void settings_sections_check(json_t *settings, const struct place *place, json_t *problems) NONNULL;

/*
 * Older clients' switches become what they stood for, in agent settings or an agent profile:
 * sub-agents a tool more or less, switching one tool less.
 */
void retired_switches_fold(json_t *settings) NONNULL;
/* True where the tools let the agent hand parts of its work to others. */
bool agent_has_children(const json_t *settings) NONNULL MUST_CHECK;
/* terminal, file_editor, task_tracker: what `tools: null` stands for. A new reference. */
json_t *standard_tools(void) MUST_CHECK;
/* True for agent_kind acp: an agent of another program, without a LLM of ours. */
bool agent_settings_are_acp(const json_t *settings) NONNULL MUST_CHECK;

/* Merges change into base, in place: objects member by member, null removes, all else replaces. */
void settings_merge(json_t *base, json_t *change) NONNULL;

#endif
