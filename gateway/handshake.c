#include "gateway/handshake.h"

#include <stdio.h>
#include <string.h>

#include <libwebsockets.h>

#include "auth/principal.h"
#include "base/clock.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "gateway/gateway.h"
#include "gateway/subscriber.h"

enum { VALUE_MAX_BYTES = 512, COOKIES_MAX_BYTES = 4096 };

static const char session_cookie[] = "deft_session=";

struct socket_path {
    const char *prefix;
    enum socket_kind kind;
};

static const struct socket_path paths[] = {
    {"/sockets/events/", SOCKET_EVENTS},
    {"/sockets/session/", SOCKET_SESSION},
};

/* libwebsockets decodes the query, and gives back where the value begins behind "name=". */
static bool query_value(struct lws *wsi, const char *name, char *value, size_t size)
{
    char argument[VALUE_MAX_BYTES];
    char prefix[40];
    const char *at = NULL;

    (void)snprintf(prefix, sizeof(prefix), "%s=", name);
    value[0] = '\0';
    at = lws_get_urlarg_by_name(wsi, prefix, argument, (int)sizeof(argument));
    if (at == NULL || strlen(at) >= size)
        return false;
    memcpy(value, at, strlen(at) + 1);
    return true;
}

static void custom_header(struct lws *wsi, const char *name, char *value, size_t size)
{
    if (lws_hdr_custom_copy(wsi, value, (int)size, name, (int)strlen(name)) < 0)
        value[0] = '\0';
}

static int read_path(struct lws *wsi, struct socket_request *request, struct error *err)
{
    char path[VALUE_MAX_BYTES];

    if (lws_hdr_copy(wsi, path, sizeof(path), WSI_TOKEN_GET_URI) < 0)
        return error_set(err, ERROR_INVALID, "path too long");
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        if (!text_starts_with(path, paths[i].prefix))
            continue;
        request->kind = paths[i].kind;
        if (!uuid_parse(path + strlen(paths[i].prefix), &request->conversation_id))
            return error_set(err, ERROR_INVALID, "not a conversation id");
        return 0;
    }
    return error_set(err, ERROR_INVALID, "no such socket");
}

static int read_since(struct lws *wsi, struct socket_request *request, struct error *err)
{
    char value[VALUE_MAX_BYTES];
    char naive[CLOCK_TEXT_BYTES];
    int64_t utc_us = 0;

    if (!query_value(wsi, "after_timestamp", value, sizeof(value)) || value[0] == '\0')
        return 0;
    if (clock_parse(value, &utc_us, err) < 0)
        return -1;
    clock_format_naive(utc_us, naive);
    memcpy(request->since, naive, sizeof(naive));
    return 0;
}

static int read_resend(struct lws *wsi, struct socket_request *request, struct error *err)
{
    char value[VALUE_MAX_BYTES];

    if (query_value(wsi, "resend_all", value, sizeof(value)) &&
        (text_equal_nocase(value, "true") || text_equal(value, "1")))
        request->resend = RESEND_ALL;
    if (!query_value(wsi, "resend_mode", value, sizeof(value)) || value[0] == '\0')
        return read_since(wsi, request, err);
    if (text_equal(value, "all"))
        request->resend = RESEND_ALL;
    else if (text_equal(value, "since"))
        request->resend = RESEND_SINCE;
    else
        return error_set(err, ERROR_INVALID, "resend_mode is neither all nor since");
    return read_since(wsi, request, err);
}

static int read_after_seq(struct lws *wsi, struct socket_request *request, struct error *err)
{
    char value[VALUE_MAX_BYTES];

    request->after_seq = -2;
    if (!query_value(wsi, "after_seq", value, sizeof(value)))
        return 0;
    return text_parse_int(value, -1, INT64_MAX / 2, &request->after_seq, err);
}

/* The value of the session cookie; "" without one. RFC 6265, section 5.4. */
static void read_cookie(struct lws *wsi, char *value, size_t size)
{
    char cookies[COOKIES_MAX_BYTES];
    const char *at = NULL;
    size_t len = 0;

    value[0] = '\0';
    if (lws_hdr_copy(wsi, cookies, sizeof(cookies), WSI_TOKEN_HTTP_COOKIE) <= 0)
        return;
    at = strstr(cookies, session_cookie);
    if (at == NULL || (at != cookies && at[-1] != ' ' && at[-1] != ';'))
        return;
    at += strlen(session_cookie);
    len = strcspn(at, "; ");
    if (len >= size)
        return;
    memcpy(value, at, len);
    value[len] = '\0';
}

/* A page of another site must not use the browser's cookie: its Origin differs from our Host. */
static int check_origin(struct lws *wsi, struct error *err)
{
    char origin[VALUE_MAX_BYTES];
    char host[VALUE_MAX_BYTES];
    const char *authority = NULL;

    if (lws_hdr_copy(wsi, origin, sizeof(origin), WSI_TOKEN_ORIGIN) <= 0 ||
        lws_hdr_copy(wsi, host, sizeof(host), WSI_TOKEN_HOST) <= 0)
        return error_set(err, ERROR_FORBIDDEN, "a cookie needs an Origin");
    authority = strstr(origin, "://");
    if (authority == NULL || !text_equal_nocase(authority + 3, host))
        return error_set(err, ERROR_FORBIDDEN, "foreign Origin");
    return 0;
}

static int authenticate_by_cookie(struct lws *wsi, struct subscriber *subscriber, struct error *err)
{
    char token[VALUE_MAX_BYTES];
    char side[16];

    custom_header(wsi, "x-deft-origin:", side, sizeof(side));
    read_cookie(wsi, token, sizeof(token));
    if (!text_equal(side, "app") || token[0] == '\0')
        return 0;
    if (check_origin(wsi, err) < 0)
        return -1;
    return principal_from_session(subscriber->gateway->db, &subscriber->gateway->keyring, token,
                                  &subscriber->principal, err);
}

/* The query's key goes before the header's; without either the first frame must bring it. */
static int authenticate(struct lws *wsi, struct subscriber *subscriber, struct error *err)
{
    char key[VALUE_MAX_BYTES];

    if (!query_value(wsi, "session_api_key", key, sizeof(key)) || key[0] == '\0')
        custom_header(wsi, "x-session-api-key:", key, sizeof(key));
    if (key[0] == '\0')
        return authenticate_by_cookie(wsi, subscriber, err);
    return principal_from_key(subscriber->gateway->db, &subscriber->gateway->keyring, key,
                              &subscriber->principal, err);
}

int handshake_read(struct lws *wsi, struct subscriber *subscriber, struct error *err)
{
    struct socket_request *request = &subscriber->request;

    if (read_path(wsi, request, err) < 0 || read_resend(wsi, request, err) < 0 ||
        read_after_seq(wsi, request, err) < 0)
        return -1;
    return authenticate(wsi, subscriber, err);
}
