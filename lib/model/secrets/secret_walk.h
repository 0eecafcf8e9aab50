/*
 * Secrets inside wire objects: tables list the paths where they may be, one walk visits them, and
 * each operation (take, restore, show, seal, open) is a visitor.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_SECRETS_SECRET_WALK_H
#define DEFT_MODEL_SECRETS_SECRET_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct json_path;

/* A '*' matches every member of a map or element of a list. */
struct secret_place {
    const char *path;
    bool is_blanked; /* REST replies show null, not the marker */
};

struct secret_table {
    const struct secret_place *places;
    size_t n;
};

/* Replaces a secret. */
extern const char secret_marker[];

/* Of an LLM object; of agent settings; of one MCP server; of a start request as received. */
extern const struct secret_table llm_secrets;
extern const struct secret_table settings_secrets;
extern const struct secret_table mcp_server_secrets;
extern const struct secret_table start_request_secrets;

struct secret_visitor {
    /* Returns the new value of the text at `where` ("llm/api_key"), a new reference; NULL: keep. */
    json_t *(*visit)(void *context, const struct secret_place *place, const char *where,
                     const char *text);
    void *context;
};

/* Visits each string at a place of the table. */
void secret_walk(const struct secret_table *table, json_t *object,
                 const struct secret_visitor *visitor) NONNULL;

/* Moves each secret into members ({"llm/api_key": text, …}) and leaves a marker; an empty string
 * becomes null. */
void secrets_take(const struct secret_table *table, json_t *object, json_t *members) NONNULL;
/* The reverse: replaces each marker by the entry of members for its place, or by null. */
void secrets_restore(const struct secret_table *table, json_t *object, const json_t *members)
    __attribute__((nonnull(1, 2)));
/* Replaces each secret by a token that only this server can open. key: keyring.fernet. */
void secrets_seal(const struct secret_table *table, json_t *object,
                  const unsigned char *key) NONNULL;
/* Opens such tokens; those that cannot be opened are appended to problems. */
void secrets_open(const struct secret_table *table, json_t *object, const unsigned char *key,
                  json_t *problems) NONNULL;

#endif
