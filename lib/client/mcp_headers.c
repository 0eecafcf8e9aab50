#include "client/mcp_headers.h"

#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

void mcp_headers_done(struct mcp_headers *headers)
{
    for (size_t i = 0; i < headers->n; i++) {
        explicit_bzero(headers->values[i], strlen(headers->values[i]));
        mem_free(headers->values[i]);
    }
}

static void add_header(struct mcp_headers *headers, const char *name, const char *value)
{
    if (headers->n == MCP_MAX_HEADERS)
        return;
    headers->values[headers->n] = mem_dup_text(value);
    headers->items[headers->n] = (struct http_header){name, headers->values[headers->n]};
    headers->n++;
}

static void add_map(struct mcp_headers *headers, json_t *map)
{
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach (map, name, value) {
        if (json_is_string(value))
            add_header(headers, name, json_string_value(value));
    }
}

static void add_authorization(struct mcp_headers *headers, const char *scheme,
                              const char *credentials)
{
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;

    strbuf_appendf(&value, "%s %s", scheme, credentials);
    add_header(headers, "Authorization", value.text);
    explicit_bzero(value.text, value.len);
}

static void add_basic(struct mcp_headers *headers, const json_t *auth)
{
    CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf coded = STRBUF_INIT;

    strbuf_appendf(&plain, "%s:%s", json_text_or(auth, "username", ""),
                   json_text_or(auth, "password", ""));
    base64_append(&coded, (const unsigned char *)plain.text, plain.len);
    add_authorization(headers, "Basic", coded.text);
    explicit_bzero(plain.text, plain.len);
    explicit_bzero(coded.text, coded.len);
}

static int add_token(struct mcp_headers *headers, const json_t *state, struct error *err)
{
    const char *token = json_text_or(json_object_get(state, "tokens"), "access_token", "");

    if (token[0] == '\0')
        return error_set(err, ERROR_INVALID, "No user has signed in to this server yet");
    add_authorization(headers, "Bearer", token);
    return 0;
}

static int add_auth(struct mcp_headers *headers, const json_t *auth, struct error *err)
{
    const char *strategy = json_text_or(auth, "strategy", "none");

    if (text_equal(strategy, "bearer"))
        add_authorization(headers, "Bearer", json_text_or(auth, "value", ""));
    else if (text_equal(strategy, "api_key"))
        add_header(headers, json_text_or(auth, "header_name", "X-API-Key"),
                   json_text_or(auth, "value", ""));
    else if (text_equal(strategy, "basic"))
        add_basic(headers, auth);
    else if (text_equal(strategy, "header"))
        add_map(headers, json_object_get(auth, "headers"));
    else if (text_equal(strategy, "oauth2"))
        return add_token(headers, json_object_get(auth, "state"), err);
    else if (!text_equal(strategy, "none"))
        return error_set(err, ERROR_INVALID, "Signing in by %s is not supported by this server",
                         strategy);
    return 0;
}

int mcp_headers_read(struct mcp_headers *headers, const json_t *server, struct error *err)
{
    add_map(headers, json_object_get(server, "headers"));
    return add_auth(headers, json_object_get(server, "auth"), err);
}
