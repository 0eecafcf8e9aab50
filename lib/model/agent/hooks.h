/*
 * A project's hooks: commands that run on events of the agent, as configured in a file of the
 * project.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_AGENT_HOOKS_H
#define DEFT_MODEL_AGENT_HOOKS_H

#include <jansson.h>

#include "base/attr.h"
#include "model/schema/object_schema.h"

struct error;
struct json_path;

/* A HookConfig as in files and start requests. */
extern const struct object_schema hook_config_schema;

/*
 * A HookConfig as clients and files may write it, with its members by their own names: event names
 * may be PreToolUse or pre_tool_use, and an outer {"hooks": …} is optional. Not checked. A new
 * reference.
 */
json_t *hooks_with_known_names(json_t *config) NONNULL MUST_CHECK;

/* Their results are kept in memory until all of them have run. */
#define HOOKS_MAX 64

/*
 * Validates a HookConfig with known names and fills in defaults. Errors are appended to problems,
 * more than HOOKS_MAX hooks for an event among them. A new reference.
 */
json_t *hooks_check(json_t *config, const struct json_path *path, json_t *problems)
    __attribute__((nonnull(1, 3))) MUST_CHECK;

/*
 * Reads the HookConfig of a hooks file and fills in defaults, see hooks_with_known_names(). Gives a
 * new reference. ERROR_INVALID if the text is not a valid HookConfig.
 */
int hooks_read(const char *text, json_t **config_out, struct error *err) NONNULL MUST_CHECK;

#endif
