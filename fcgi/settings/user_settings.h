/*
 * A user's settings (store/user/settings_store.h) as handlers read, change and send them.
 */
#ifndef DEFT_FCGI_SETTINGS_USER_SETTINGS_H
#define DEFT_FCGI_SETTINGS_USER_SETTINGS_H

#include <jansson.h>

#include "base/attr.h"
#include "fcgi/settings/user_documents.h"

/* Loads the document and adds defaults for missing members; revision 0 when none is stored yet. */
int user_settings_load(const struct request *request, struct document *settings_out,
                       struct error *err) NONNULL MUST_CHECK;
/* Stores the document. ERROR_STALE as document_store_put(). */
int user_settings_put(const struct request *request, struct document *settings,
                      struct error *err) NONNULL MUST_CHECK;
/* The agent settings with their secrets in clear. A new reference. */
json_t *user_settings_agent(const struct document *settings) NONNULL MUST_CHECK;
/*
 * Copies agent settings (secrets in clear; a marker means the stored one) into the document.
 * Problems are appended to problems; then nothing has changed.
 */
void user_settings_set_agent(const struct request *request, struct document *settings,
                             json_t *agent, const struct json_path *path, json_t *problems) NONNULL;
/* Makes the LLM (secrets in clear) the agent's; false when the agent is an ACP program. */
bool user_settings_set_llm(const struct request *request, struct document *settings,
                           json_t *llm) NONNULL;
/* Points to a meta-profile, or with NULL to none; false when the agent is an ACP program. */
bool user_settings_set_meta(struct document *settings, const char *name)
    __attribute__((nonnull(1)));
/* A pointer such as "active_profile", or NULL. Borrowed. */
const char *user_settings_pointer(const struct document *settings,
                                  const char *name) NONNULL MUST_CHECK;
/* The reply to GET and to every change. A new reference, or NULL with err set. */
json_t *user_settings_to_json(const struct request *request, const struct document *settings,
                              enum exposure exposure, struct error *err) NONNULL MUST_CHECK;

#endif
