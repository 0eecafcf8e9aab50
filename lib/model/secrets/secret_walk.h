/*
 * Secrets inside the objects of the wire: tables say at which paths they may stand, one walk visits
 * them, and each use (take out, put back, show, seal, open) is a visitor.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_SECRETS_SECRET_WALK_H
#define DEFT_MODEL_SECRETS_SECRET_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct place;

/* A '*' stands for every member of a map or element of a list. */
struct secret_place {
    const char *path;
    bool is_blanked; /* REST replies show null, not the marker */
};

struct secret_table {
    const struct secret_place *places;
    size_t n;
};

/* What stands where a secret was. */
extern const char secret_marker[];

/* Of a LLM object; of agent settings; of one MCP server; of a start request, as it comes. */
extern const struct secret_table llm_secrets;
extern const struct secret_table settings_secrets;
extern const struct secret_table mcp_server_secrets;
extern const struct secret_table start_request_secrets;

struct secret_visitor {
    /* What the text at `where` ("llm/api_key") gives way to (a new reference), NULL to leave it. */
    json_t *(*visit)(void *context, const struct secret_place *place, const char *where,
                     const char *text);
    void *context;
};

/* Visits each text that stands at a place of the table. */
void secret_walk(const struct secret_table *table, json_t *object,
                 const struct secret_visitor *visitor) NONNULL;

/* Moves each secret into members ({"llm/api_key": text, …}); a marker stays, an empty text is null.
 */
void secrets_take(const struct secret_table *table, json_t *object, json_t *members) NONNULL;
/* The reverse: each marker gives way to what members has for its place, or to null. */
void secrets_restore(const struct secret_table *table, json_t *object, const json_t *members)
    __attribute__((nonnull(1, 2)));
/* Makes a token that we alone can open of each secret. key: keyring.fernet. */
void secrets_seal(const struct secret_table *table, json_t *object,
                  const unsigned char *key) NONNULL;
/* Opens those that are such tokens; what cannot be opened is appended to problems. */
void secrets_open(const struct secret_table *table, json_t *object, const unsigned char *key,
                  json_t *problems) NONNULL;

#endif
