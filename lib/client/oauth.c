#include "client/oauth.h"

#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/cancel.h"
#include "client/http.h"

enum {
    MAX_REPLY_BYTES = 256 * 1024,
    URL_MAX_BYTES = 8000,
    STATUS_REFUSED = 400,
    STATUS_FAILED = 500
};

static const char form_type[] = "application/x-www-form-urlencoded";

int oauth_check_url(const struct oauth *oauth, const char *url, struct error *err)
{
    bool is_https = text_starts_with(url, "https://");
    const char *host = strstr(url, "://");
    size_t authority = host != NULL ? strcspn(host + 3, "/?#") : 0;

    if (!is_https &&
        !(http_reaches_private(oauth->http, oauth->address_of) && text_starts_with(url, "http://")))
        return error_set(err, ERROR_INVALID, "Sign-in addresses must begin with https://");
    if (authority == 0 || memchr(host + 3, '@', authority) != NULL || strchr(url, '#') != NULL ||
        strlen(url) > URL_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "A sign-in address is not a valid URL");
    for (const char *c = url; *c != '\0'; c++) {
        if ((unsigned char)*c <= ' ' || *c == '\x7f')
            return error_set(err, ERROR_INVALID, "A sign-in address is not a valid URL");
    }
    return 0;
}

static int wait_for(const struct oauth *oauth, struct http_call *call, struct error *err)
{
    int rc = 0;

    if (oauth->cancel == NULL)
        return http_wait(call, err);
    if (cancel_enter(oauth->cancel, call, err) < 0)
        return -1;
    rc = http_wait(call, err);
    cancel_leave(oauth->cancel);
    return rc;
}

int oauth_send(const struct oauth *oauth, const struct oauth_call *what,
               struct http_call **call_out, struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    int64_t left_ms = oauth->deadline_ms - clock_monotonic_ms();

    if (oauth_check_url(oauth, what->url, err) < 0)
        return -1;
    if (left_ms <= 0)
        return error_set(err, ERROR_TIMEOUT, "Signing in took too long");
    if (http_start(oauth->http,
                   &(struct http_request){
                       .method = what->method,
                       .url = what->url,
                       .headers = what->headers,
                       .body = what->body != NULL ? what->body->text : NULL,
                       .body_len = what->body != NULL ? what->body->len : 0,
                       .content_type = what->content_type,
                       .timeout_ms = left_ms,
                       .max_reply_bytes = MAX_REPLY_BYTES,
                       .address_of = oauth->address_of,
                   },
                   &call, err) < 0 ||
        wait_for(oauth, call, err) < 0)
        return -1;
    *call_out = TAKE_PTR(call);
    return 0;
}

int oauth_read_object(const struct http_call *call, json_t **object_out, struct error *err)
{
    json_auto_t *json = NULL;
    size_t len = 0;
    const char *body = http_body(call, &len);

    if (json_parse(body, len, &json, err) < 0 || !json_is_object(json))
        return error_set(err, ERROR_INVALID, "The sign-in server did not reply with JSON");
    *object_out = json_incref(json);
    return 0;
}

/* An error with the server's own message (RFC 6749, section 5.2). */
static int refused(const struct http_call *call, const char *what, struct error *err)
{
    struct error ignored = ERROR_INIT;
    json_auto_t *body = NULL;

    error_ignore(oauth_read_object(call, &body, &ignored),
                 "without a JSON reply the status is all there is to report");
    return error_set(err, http_status(call) < STATUS_FAILED ? ERROR_INVALID : ERROR_UNAVAILABLE,
                     "The sign-in server refused %s (HTTP %ld)%s%s%s%s", what, http_status(call),
                     body != NULL ? ": " : "", json_text_or(body, "error", ""),
                     json_text_or(body, "error_description", NULL) != NULL ? ", " : "",
                     json_text_or(body, "error_description", ""));
}

int oauth_register(const struct oauth *oauth, const json_t *provider, const json_t *metadata,
                   json_t **client_out, struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    json_auto_t *client = NULL;

    json_append_text(&body, metadata);
    if (oauth_send(oauth,
                   &(struct oauth_call){.method = "POST",
                                        .url = json_text_or(provider, "registration_endpoint", ""),
                                        .body = &body},
                   &call, err) < 0)
        return -1;
    if (http_status(call) >= STATUS_REFUSED)
        return refused(call, "to register this client", err);
    if (oauth_read_object(call, &client, err) < 0)
        return -1;
    if (json_text_or(client, "client_id", "")[0] == '\0')
        return error_set(err, ERROR_INVALID,
                         "The sign-in server's registration reply has no client_id");
    *client_out = json_incref(client);
    return 0;
}

bool oauth_scope_has(const char *scope, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = scope; *at != '\0'; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");

        if (n == len && memcmp(at, word, len) == 0)
            return true;
        at += n;
    }
    return false;
}

void oauth_append_form(struct strbuf *out, const json_t *form)
{
    const char *separator = "";
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach ((json_t *)(uintptr_t)form, name, value) {
        if (!json_is_string(value))
            continue;
        strbuf_append(out, separator);
        percent_append(out, name);
        strbuf_append_char(out, '=');
        percent_append(out, json_string_value(value));
        separator = "&";
    }
}

void oauth_append_challenge(struct strbuf *out, const char *verifier)
{
    char hex[CRYPTO_HASH_HEX_BYTES];
    unsigned char hash[CRYPTO_HASH_BYTES] = {0};
    struct error ignored = ERROR_INIT;

    crypto_sha256_hex(verifier, strlen(verifier), hex);
    error_ignore(hex_decode(hex, hash, sizeof(hash), &ignored), "our own digits");
    base64url_append(out, hash, sizeof(hash));
}

static bool offers(const json_t *methods, const char *method)
{
    for (size_t i = 0; i < json_array_size(methods); i++) {
        const char *offered = json_string_value(json_array_get(methods, i));

        if (offered != NULL && text_equal(offered, method))
            return true;
    }
    return false;
}

const char *oauth_pick_method(const json_t *provider, enum oauth_client_type type)
{
    static const char *const methods[] = {"none", "client_secret_post", "client_secret_basic"};
    const json_t *offered = json_object_get(provider, "auth_methods");
    size_t simplest = type == OAUTH_CONFIDENTIAL ? 1 : 0;

    /* Without the member, the default is "basic" (RFC 8414, section 2). */
    if (json_array_size(offered) == 0)
        return type == OAUTH_CONFIDENTIAL ? methods[2] : methods[0];
    for (size_t i = simplest; i < ARRAY_SIZE(methods); i++) {
        if (offers(offered, methods[i]))
            return methods[i];
    }
    return methods[simplest];
}

/* "Basic" with both parts encoded as in a form (RFC 6749, section 2.3.1). */
static void append_basic(struct strbuf *out, const char *id, const char *secret)
{
    CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;

    percent_append(&plain, id);
    strbuf_append_char(&plain, ':');
    percent_append(&plain, secret);
    strbuf_append(out, "Basic ");
    base64_append(out, (const unsigned char *)plain.text, plain.len);
    explicit_bzero(plain.text, plain.len);
}

static int check_tokens(const json_t *tokens, struct error *err)
{
    const char *token = json_text_or(tokens, "access_token", "");

    if (token[0] == '\0' || strpbrk(token, "\r\n") != NULL)
        return error_set(err, ERROR_INVALID, "The sign-in server's reply has no access token");
    if (!text_equal_nocase(json_text_or(tokens, "token_type", "Bearer"), "Bearer"))
        return error_set(err, ERROR_INVALID,
                         "The sign-in server issued a token of an unknown type");
    return 0;
}

int oauth_ask_tokens(const struct oauth *oauth, const json_t *provider, const json_t *client,
                     const json_t *form, json_t **tokens_out, struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf basic = STRBUF_INIT;
    const char *method = json_text_or(client, "token_endpoint_auth_method", "none");
    const char *id = json_text_or(client, "client_id", "");
    const char *secret = json_text_or(client, "client_secret", "");
    bool is_basic = text_equal(method, "client_secret_basic") && secret[0] != '\0';
    json_auto_t *fields = json_copy((json_t *)(uintptr_t)form);
    json_auto_t *tokens = NULL;
    struct http_header headers[] = {{"Accept", "application/json"}, {NULL, NULL}, {NULL, NULL}};
    int rc = 0;

    if (is_basic) {
        append_basic(&basic, id, secret);
        headers[1] = (struct http_header){"Authorization", basic.text};
    } else {
        json_put_text(fields, "client_id", id);
        json_put_text(fields, "client_secret", secret[0] != '\0' ? secret : NULL);
    }
    oauth_append_form(&body, fields);
    rc = oauth_send(oauth,
                    &(struct oauth_call){.method = "POST",
                                         .url = json_text_or(provider, "token_endpoint", ""),
                                         .headers = headers,
                                         .body = &body,
                                         .content_type = form_type},
                    &call, err);
    explicit_bzero(body.text, body.len);
    explicit_bzero(basic.text, basic.len);
    if (rc < 0)
        return -1;
    if (http_status(call) >= STATUS_REFUSED)
        return refused(call, "to issue tokens", err);
    if (oauth_read_object(call, &tokens, err) < 0 || check_tokens(tokens, err) < 0)
        return -1;
    *tokens_out = json_incref(tokens);
    return 0;
}
