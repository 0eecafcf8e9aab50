/*
 * Internal to lib/llm: ids of calls that carry the signature of the model's thought, which Google's
 * models want back with the call: <id>__thought__<signature>. LiteLLM uses the same form.
 *
 * Threading: pure.
 * Decision: docs/decisions/0097-gemini.md
 */
#ifndef DEFT_LLM_CALL_ID_H
#define DEFT_LLM_CALL_ID_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct strbuf;

/* A longer id is replaced; a longer signature is left out. */
enum { CALL_ID_MAX_BYTES = 256, CALL_SIGNATURE_MAX_BYTES = 65536 };

/* True if both its parts are short enough, and the signature, if it has one, is valid. */
bool call_id_is_kept(const char *id) NONNULL MUST_CHECK;
/* The length of the id without the signature. */
size_t call_id_bare_len(const char *id) NONNULL MUST_CHECK;
/* The id without the signature. A new reference. */
json_t *call_id_bare(const char *id) NONNULL MUST_CHECK;
/* The signature, within the id; NULL if it has none. */
const char *call_id_signature(const char *id) NONNULL MUST_CHECK;
/* True for the digits of base64, in either alphabet, up to CALL_SIGNATURE_MAX_BYTES. */
bool call_signature_is_valid(const struct strbuf *signature) NONNULL MUST_CHECK;
/* Adds a valid signature to an id that has none; another signature is left out. */
void call_id_add_signature(struct strbuf *id, const struct strbuf *signature) NONNULL;
/*
 * A neutral message (llm_prompt.h) without the signatures in its ids, for a server that does not
 * know them. A new reference; NULL if it has none.
 */
json_t *call_ids_without_signatures(json_t *message) NONNULL MUST_CHECK;

#endif
