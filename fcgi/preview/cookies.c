/*
 * The cookies of a preview origin. With TLS their names begin with __Host-, so that no other origin
 * can set them; without it a page of a sibling origin may have set any value, which counts only if
 * it is a token of exactly this port and sandbox.
 */
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request.h"
#include "fcgi/preview/preview_origin.h"

#define HOST_PREFIX "__Host-"

struct cookie_kind {
    const char *name;
    int64_t valid_s;
};

static const struct cookie_kind kinds[PREVIEW_N_COOKIES] = {
    [PREVIEW_COOKIE_SESSION] = {"deft_preview", INT64_C(12) * 3600},
    [PREVIEW_COOKIE_STATE] = {"deft_preview_state", 600},
};

/* deft's own cookies that a browser may have for this host: the sandbox must not see them. */
static const char *const own_names[] = {"deft_", HOST_PREFIX "deft_", WORKSPACE_COOKIE};

static bool is_secure(const struct request *request)
{
    return text_equal(preview_scheme(request), "https");
}

/* One pair of the Cookie header, without surrounding white space. */
struct pair {
    const char *text;
    size_t len;
    size_t name_len;
};

/* RFC 6265, section 4.2.1. False at the end. */
static bool next_pair(const char **at, struct pair *pair)
{
    const char *text = *at;

    if (text == NULL || *text == '\0')
        return false;
    text += strspn(text, " \t");
    pair->text = text;
    pair->len = strcspn(text, ";");
    pair->name_len = strcspn(text, "=;");
    *at = text + pair->len + (text[pair->len] == ';');
    return true;
}

static bool is_token(const char *value, size_t len)
{
    return len == CRYPTO_TOKEN_BYTES - 1 &&
           strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") >= len;
}

/* The pair's value when it has that name and the format of a token; else NULL. */
static const char *token_of(const struct request *request, enum preview_cookie cookie,
                            const struct pair *pair)
{
    const char *name = pair->text;
    size_t prefix_len = is_secure(request) ? strlen(HOST_PREFIX) : 0;
    size_t len = strlen(kinds[cookie].name);
    const char *value = pair->text + pair->name_len + 1;

    if (pair->name_len != prefix_len + len || strncmp(name, HOST_PREFIX, prefix_len) != 0 ||
        strncmp(name + prefix_len, kinds[cookie].name, len) != 0)
        return NULL;
    if (pair->len <= pair->name_len || !is_token(value, pair->len - pair->name_len - 1))
        return NULL;
    return value;
}

void preview_read_tokens(const struct request *request, enum preview_cookie cookie,
                         struct preview_tokens *tokens_out)
{
    const char *at = request_param(request, "HTTP_COOKIE");
    struct pair pair = {NULL, 0, 0};

    tokens_out->n = 0;
    while (tokens_out->n < PREVIEW_TOKENS_MAX && next_pair(&at, &pair)) {
        const char *value = token_of(request, cookie, &pair);
        char token[CRYPTO_TOKEN_BYTES] = "";

        if (value == NULL)
            continue;
        memcpy(token, value, sizeof(token) - 1);
        keyring_hash_token(&request->context->keyring, token, tokens_out->hashes[tokens_out->n]);
        tokens_out->items[tokens_out->n] = tokens_out->hashes[tokens_out->n];
        tokens_out->n++;
    }
}

bool preview_read_state(const struct request *request, char state_out[CRYPTO_TOKEN_BYTES])
{
    const char *at = request_param(request, "HTTP_COOKIE");
    struct pair pair = {NULL, 0, 0};

    while (next_pair(&at, &pair)) {
        const char *value = token_of(request, PREVIEW_COOKIE_STATE, &pair);

        if (value != NULL) {
            memcpy(state_out, value, CRYPTO_TOKEN_BYTES - 1);
            state_out[CRYPTO_TOKEN_BYTES - 1] = '\0';
            return true;
        }
    }
    return false;
}

/* No Domain: the cookie is sent to this origin's host only. */
void preview_set_cookie(const struct request *request, struct reply *reply,
                        enum preview_cookie cookie, const char *value)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_appendf(&text, "%s%s=%s; Path=/; HttpOnly; SameSite=Lax; Max-Age=%lld%s",
                   is_secure(request) ? HOST_PREFIX : "", kinds[cookie].name, value,
                   (long long)kinds[cookie].valid_s, is_secure(request) ? "; Secure" : "");
    reply_header(reply, "Set-Cookie", text.text);
}

static bool is_own(const struct pair *pair)
{
    for (size_t i = 0; i < ARRAY_SIZE(own_names); i++) {
        if (pair->name_len >= strlen(own_names[i]) &&
            strncmp(pair->text, own_names[i], strlen(own_names[i])) == 0)
            return true;
    }
    return false;
}

void preview_append_foreign_cookies(const struct request *request, struct strbuf *out)
{
    const char *at = request_param(request, "HTTP_COOKIE");
    struct pair pair = {NULL, 0, 0};

    while (next_pair(&at, &pair)) {
        if (pair.len == 0 || is_own(&pair))
            continue;
        strbuf_append(out, out->len > 0 ? "; " : "");
        strbuf_append_bytes(out, pair.text, pair.len);
    }
}
