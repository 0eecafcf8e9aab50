/*
 * Where a conversation's specification may hold secrets, and what is done with them: taken out for
 * the vault, hidden from clients, put back for a call.
 */
#ifndef DEFT_MODEL_SECRETS_SECRET_PLACES_H
#define DEFT_MODEL_SECRETS_SECRET_PLACES_H

#include <jansson.h>

#include "base/attr.h"
#include "model/secrets/secret_walk.h"

/* Moves each secret of spec into members ({"agent/llm/api_key": text, …}); a marker stays. */
void secret_places_take(json_t *spec, json_t *members) NONNULL;
/* The reverse: each marker of spec gives way to the secret that was there. */
void secret_places_restore(json_t *spec, const json_t *members) NONNULL;
/* What REST replies show: null instead of a marker, but in maps of texts the marker stays. */
void secret_places_blank(json_t *spec) NONNULL;

#endif
