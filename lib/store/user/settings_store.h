/*
 * A user's settings as one document: {"agent_settings", "conversation_settings", "misc_settings",
 * "active_profile", "active_agent_profile_id", "active_meta_profile"}, with the secrets of
 * agent_settings stored separately. A user who has never saved settings has the defaults.
 */
#ifndef DEFT_STORE_USER_SETTINGS_STORE_H
#define DEFT_STORE_USER_SETTINGS_STORE_H

#include <jansson.h>

#include "base/attr.h"

struct conversation_defaults;
struct document;
struct error;
struct json_path;
struct document_scope;

/* Loads the document and adds defaults for missing members; revision 0 when none is stored yet. */
int settings_store_load(const struct document_scope *scope,
                        const struct conversation_defaults *defaults, struct document *settings_out,
                        struct error *err) NONNULL MUST_CHECK;
/* The agent settings with their secrets in clear. A new reference. */
json_t *settings_store_agent(const struct document *settings) NONNULL MUST_CHECK;
/*
 * Copies agent settings (secrets in clear; a marker means the stored one) into the document.
 * Problems are appended to problems; then nothing has changed.
 */
void settings_store_set_agent(struct document *settings,
                              const struct conversation_defaults *defaults, json_t *agent,
                              const struct json_path *place, json_t *problems) NONNULL;

#endif
