/*
 * LLM profiles and provider connections, resolved to an LLM object that can be called.
 *
 * Documents of COLLECTION_PROFILES have an LLM object as body, and its secrets by their paths
 * (secrets_take() with llm_secrets). Those of COLLECTION_CONNECTIONS are named by their id: body
 * {"display_name", "provider", "base_url"}, secrets {"api_key"}.
 */
#ifndef DEFT_STORE_USER_PROFILE_STORE_H
#define DEFT_STORE_USER_PROFILE_STORE_H

#include <jansson.h>

#include "base/attr.h"
#include "store/user/document_store.h"

/*
 * The LLM of a profile, its secrets in clear and its provider connection resolved: for a call,
 * never for a client. A new reference in *llm_out. ERROR_NOT_FOUND: "Profile 'x' not found".
 * ERROR_INVALID: its provider connection no longer exists.
 */
int profile_store_load_llm(const struct document_scope *scope, const char *name, json_t **llm_out,
                           struct error *err) NONNULL MUST_CHECK;
/*
 * Resolves provider_connection_id of an LLM object (secrets in clear): sets the key, and the
 * base_url where it has none. An LLM without a connection, or with a key of its own, is unchanged.
 * ERROR_INVALID, with nothing changed, when there is no such connection.
 */
int profile_store_resolve_llm(const struct document_scope *scope, json_t *llm,
                              struct error *err) NONNULL MUST_CHECK;
/* The document's body with its secrets in clear. A new reference; for a call or a sealed reply. */
json_t *profile_document_llm(const struct document *document) NONNULL MUST_CHECK;

#endif
