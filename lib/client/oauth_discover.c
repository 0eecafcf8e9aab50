/*
 * Finds a server's authorization server: protected resource metadata (RFC 9728), then authorization
 * server metadata (RFC 8414, or OpenID Connect Discovery 1.0).
 */
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/auth_challenge.h"
#include "client/http.h"
#include "client/oauth.h"
#include "model/tools/mcp.h"

enum { STATUS_OK = 200, STATUS_OK_LAST = 299, STATUS_UNAUTHORIZED = 401 };

/* A URL split into its origin and path, without query. Borrowed. */
struct url_parts {
    const char *url;
    size_t origin_len;
    size_t path_len; /* 0 for "/" */
};

static struct url_parts split(const char *url)
{
    const char *host = strstr(url, "://");
    size_t origin = host != NULL ? (size_t)(host + 3 - url) + strcspn(host + 3, "/?#") : 0;
    size_t path = strcspn(url + origin, "?#");

    return (struct url_parts){url, origin, path == 1 ? 0 : path};
}

static void append_origin(struct strbuf *out, const struct url_parts *parts)
{
    strbuf_append_bytes(out, parts->url, parts->origin_len);
}

static void append_path(struct strbuf *out, const struct url_parts *parts)
{
    strbuf_append_bytes(out, parts->url + parts->origin_len, parts->path_len);
}

/* Sends the server an unauthenticated request, whose reply names its metadata and scope. */
static int ask_server(const struct oauth *oauth, const char *url, struct strbuf *metadata_url,
                      struct strbuf *scope, struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    json_auto_t *message = mcp_initialize(1);
    const struct http_header headers[] = {{"Accept", "application/json, text/event-stream"},
                                          {NULL, NULL}};
    const char *challenge = NULL;

    json_append_text(&body, message);
    if (oauth_send(
            oauth,
            &(struct oauth_call){.method = "POST", .url = url, .headers = headers, .body = &body},
            &call, err) < 0)
        return -1;
    challenge = http_reply_header(call, "WWW-Authenticate");
    if (http_status(call) != STATUS_UNAUTHORIZED || challenge == NULL)
        return 0;
    auth_challenge_append(metadata_url, challenge, "resource_metadata");
    auth_challenge_append(scope, challenge, "scope");
    return 0;
}

/* *document_out stays NULL if there is none. */
static int get_document(const struct oauth *oauth, const char *url, json_t **document_out,
                        struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    const struct http_header headers[] = {{"Accept", "application/json"}, {NULL, NULL}};
    struct error ignored = ERROR_INIT;

    if (oauth_send(oauth, &(struct oauth_call){.method = "GET", .url = url, .headers = headers},
                   &call, err) < 0)
        return -1;
    if (http_status(call) >= STATUS_OK && http_status(call) <= STATUS_OK_LAST)
        error_ignore(oauth_read_object(call, document_out, &ignored),
                     "an error page is not a document");
    return 0;
}

/* How to form a well-known URL from another one. */
struct well_known {
    const char *name;
    enum { BEFORE_PATH, BEHIND_PATH, AT_ORIGIN } where;
};

static int find_document(const struct oauth *oauth, const char *url, const struct well_known *names,
                         size_t n, json_t **document_out, struct error *err)
{
    const struct url_parts parts = split(url);

    for (size_t i = 0; i < n && *document_out == NULL; i++) {
        CLEANUP(strbuf_done) struct strbuf candidate = STRBUF_INIT;

        if (parts.path_len == 0 && names[i].where != AT_ORIGIN)
            continue;
        append_origin(&candidate, &parts);
        if (names[i].where == BEHIND_PATH)
            append_path(&candidate, &parts);
        strbuf_append(&candidate, names[i].name);
        if (names[i].where == BEFORE_PATH)
            append_path(&candidate, &parts);
        if (get_document(oauth, candidate.text, document_out, err) < 0)
            return -1;
    }
    return 0;
}

/* True if a URL is at or below a resource, the server's identifier for itself. */
static bool is_of_resource(const char *url, const char *resource)
{
    size_t len = strlen(resource);

    while (len > 0 && resource[len - 1] == '/')
        len--;
    return strncasecmp(url, resource, len) == 0 && len >= split(url).origin_len &&
           strchr("/?", url[len]) != NULL;
}

static void append_scopes(struct strbuf *out, const json_t *scopes)
{
    for (size_t i = 0; i < json_array_size(scopes); i++) {
        const char *scope = json_string_value(json_array_get(scopes, i));

        if (scope != NULL)
            strbuf_appendf(out, "%s%s", out->len > 0 ? " " : "", scope);
    }
}

/* Appends the issuer that the server names; the server itself if it names none. */
static int find_issuer(const struct oauth *oauth, const char *url, json_t *provider,
                       struct strbuf *issuer, struct error *err)
{
    static const struct well_known names[] = {
        {"/.well-known/oauth-protected-resource", BEFORE_PATH},
        {"/.well-known/oauth-protected-resource", AT_ORIGIN},
    };
    CLEANUP(strbuf_done) struct strbuf metadata_url = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf scope = STRBUF_INIT;
    const struct url_parts parts = split(url);
    json_auto_t *document = NULL;
    const char *resource = NULL;
    const char *named = NULL;

    if (ask_server(oauth, url, &metadata_url, &scope, err) < 0)
        return -1;
    if ((metadata_url.len > 0
             ? get_document(oauth, metadata_url.text, &document, err)
             : find_document(oauth, url, names, ARRAY_SIZE(names), &document, err)) < 0)
        return -1;
    resource = json_text_or(document, "resource", url);
    if (!is_of_resource(url, resource))
        return error_set(err, ERROR_INVALID,
                         "The server's metadata belongs to another resource, %s", resource);
    named =
        json_string_value(json_array_get(json_object_get(document, "authorization_servers"), 0));
    strbuf_append(issuer, named != NULL ? named : "");
    if (issuer->len == 0)
        append_origin(issuer, &parts);
    if (scope.len == 0)
        append_scopes(&scope, json_object_get(document, "scopes_supported"));
    json_put_text(provider, "resource", resource);
    json_put_text(provider, "scope", scope.len > 0 ? scope.text : NULL);
    return 0;
}

/* Ignores a trailing slash, on which servers disagree. */
static bool is_same_issuer(const char *a, const char *b)
{
    size_t a_len = strlen(a);
    size_t b_len = strlen(b);

    a_len -= a_len > 0 && a[a_len - 1] == '/' ? 1 : 0;
    b_len -= b_len > 0 && b[b_len - 1] == '/' ? 1 : 0;
    return a_len == b_len && memcmp(a, b, a_len) == 0;
}

static bool list_has(const json_t *list, const char *word)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));

        if (text != NULL && text_equal(text, word))
            return true;
    }
    return false;
}

/*
 * Adds the scope by which the authorization server offers refresh tokens; without other scopes it
 * would replace the server's own choice. Source: OpenID Connect Core 1.0, section 11.
 */
static void add_offline_access(const json_t *metadata, json_t *provider)
{
    CLEANUP(strbuf_done) struct strbuf scope = STRBUF_INIT;

    strbuf_append(&scope, json_text_or(provider, "scope", ""));
    if (scope.len == 0 || oauth_scope_has(scope.text, OAUTH_OFFLINE_ACCESS) ||
        !list_has(json_object_get(metadata, "scopes_supported"), OAUTH_OFFLINE_ACCESS))
        return;
    strbuf_append(&scope, " " OAUTH_OFFLINE_ACCESS);
    json_put_text(provider, "scope", scope.text);
}

/* Validates the metadata and copies them into provider. */
static int take_metadata(const struct oauth *oauth, const char *issuer, const json_t *metadata,
                         json_t *provider, struct error *err)
{
    static const char *const endpoints[] = {"authorization_endpoint", "token_endpoint"};
    const char *registration = json_text_or(metadata, "registration_endpoint", NULL);

    if (!is_same_issuer(json_text_or(metadata, "issuer", ""), issuer))
        return error_set(err, ERROR_INVALID,
                         "The sign-in server's metadata does not name %s as its issuer", issuer);
    for (size_t i = 0; i < ARRAY_SIZE(endpoints); i++) {
        const char *url = json_text_or(metadata, endpoints[i], "");

        if (oauth_check_url(oauth, url, err) < 0)
            return error_wrap(err, "%s", endpoints[i]);
        json_put_text(provider, endpoints[i], url);
    }
    if (!list_has(json_object_get(metadata, "code_challenge_methods_supported"), "S256"))
        return error_set(err, ERROR_INVALID, "The sign-in server does not support PKCE with S256");
    json_put_text(provider, "issuer", json_text_or(metadata, "issuer", ""));
    json_put_text(provider, "registration_endpoint", registration);
    json_put(provider, "auth_methods",
             json_incref(json_object_get(metadata, "token_endpoint_auth_methods_supported")));
    json_put(
        provider, "answers_with_issuer",
        json_boolean(json_bool_or(metadata, "authorization_response_iss_parameter_supported", 0)));
    json_put(provider, "takes_metadata_urls",
             json_boolean(json_bool_or(metadata, "client_id_metadata_document_supported", 0)));
    add_offline_access(metadata, provider);
    return 0;
}

int oauth_discover(const struct oauth *oauth, const char *url, json_t **provider_out,
                   struct error *err)
{
    static const struct well_known names[] = {
        {"/.well-known/oauth-authorization-server", BEFORE_PATH},
        {"/.well-known/openid-configuration", BEFORE_PATH},
        {"/.well-known/openid-configuration", BEHIND_PATH},
        {"/.well-known/oauth-authorization-server", AT_ORIGIN},
        {"/.well-known/openid-configuration", AT_ORIGIN},
    };
    CLEANUP(strbuf_done) struct strbuf issuer = STRBUF_INIT;
    json_auto_t *provider = json_object();
    json_auto_t *metadata = NULL;

    if (find_issuer(oauth, url, provider, &issuer, err) < 0 ||
        find_document(oauth, issuer.text, names, ARRAY_SIZE(names), &metadata, err) < 0)
        return -1;
    if (metadata == NULL)
        return error_set(err, ERROR_INVALID, "The server does not name a sign-in server");
    if (take_metadata(oauth, issuer.text, metadata, provider, err) < 0)
        return -1;
    *provider_out = json_incref(provider);
    return 0;
}
