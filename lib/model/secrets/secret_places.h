/*
 * Secrets inside a conversation's specification: extracting them to be sealed, hiding them from
 * clients, restoring them for a call.
 */
#ifndef DEFT_MODEL_SECRETS_SECRET_PLACES_H
#define DEFT_MODEL_SECRETS_SECRET_PLACES_H

#include <jansson.h>

#include "base/attr.h"
#include "model/secrets/secret_walk.h"

/* Moves each secret of spec into members ({"agent/llm/api_key": text, …}) and leaves a marker. */
void secret_places_take(json_t *spec, json_t *members) NONNULL;
/* The reverse: replaces each marker in spec by its secret. */
void secret_places_restore(json_t *spec, const json_t *members) NONNULL;
/*
 * Converts spec to the form of REST replies: null instead of a marker, except in maps of strings,
 * where the marker stays.
 */
void secret_places_blank(json_t *spec) NONNULL;

#endif
