#include "gateway/handshake.h"

#include <string.h>

#include "auth/principal.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "gateway/gateway.h"
#include "gateway/head.h"
#include "model/web_origin.h"

static const char session_cookie[] = "deft_session=";

struct socket_path {
    const char *prefix;
    enum socket_kind kind;
};

static const struct socket_path paths[] = {
    {"/sockets/events/", SOCKET_EVENTS},
    {"/sockets/session/", SOCKET_SESSION},
    {"/sockets/bash-events", SOCKET_BASH},
};

static int check_upgrade(const char *head, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf upgrade = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;

    if (!head_header(head, "Upgrade", &upgrade) || !text_equal_nocase(upgrade.text, "websocket"))
        return error_set(err, ERROR_INVALID, "no WebSocket");
    /* Without it libwebsockets hangs up, which nginx would report as a server error. */
    if (!head_header(head, "Sec-WebSocket-Key", &key) || key.len == 0)
        return error_set(err, ERROR_INVALID, "no Sec-WebSocket-Key");
    return 0;
}

/* Reads the path after the prefix: a conversation, except on bash-events, which has none. */
static int read_conversation(const char *rest, struct socket_request *request, struct error *err)
{
    bool is_fine = request->kind == SOCKET_BASH ? rest[0] == '\0'
                                                : uuid_parse(rest, &request->conversation_id);

    return is_fine ? 0 : error_set(err, ERROR_INVALID, "not a conversation id");
}

static int read_path(const char *head, struct socket_request *request, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    if (!head_path(head, &path))
        return error_set(err, ERROR_INVALID, "no GET of a path");
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        if (!text_starts_with(path.text, paths[i].prefix))
            continue;
        request->kind = paths[i].kind;
        return read_conversation(path.text + strlen(paths[i].prefix), request, err);
    }
    return error_set(err, ERROR_INVALID, "no such socket");
}

static int read_since(const char *head, struct socket_request *request, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
    char naive[CLOCK_TEXT_BYTES];
    int64_t utc_us = 0;

    if (!head_query(head, "after_timestamp", &value) || value.len == 0)
        return 0;
    if (clock_parse(value.text, &utc_us, err) < 0)
        return -1;
    clock_format_naive(utc_us, naive);
    memcpy(request->since, naive, sizeof(naive));
    return 0;
}

static int read_resend(const char *head, struct socket_request *request, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf mode = STRBUF_INIT;

    if (head_query(head, "resend_all", &all) &&
        (text_equal_nocase(all.text, "true") || text_equal(all.text, "1")))
        request->resend = RESEND_ALL;
    if (!head_query(head, "resend_mode", &mode) || mode.len == 0)
        return read_since(head, request, err);
    if (text_equal(mode.text, "all"))
        request->resend = RESEND_ALL;
    else if (text_equal(mode.text, "since"))
        request->resend = RESEND_SINCE;
    else
        return error_set(err, ERROR_INVALID, "resend_mode is neither all nor since");
    return read_since(head, request, err);
}

static int read_after_seq(const char *head, struct socket_request *request, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;

    request->after_seq = -2;
    if (!head_query(head, "after_seq", &value))
        return 0;
    return text_parse_int(value.text, -1, INT64_MAX / 2, &request->after_seq, err);
}

/* Appends the value of the session cookie; nothing without one. RFC 6265, section 5.4. */
static void read_cookie(const char *head, struct strbuf *value)
{
    CLEANUP(strbuf_done) struct strbuf cookies = STRBUF_INIT;
    const char *at = NULL;

    if (!head_header(head, "Cookie", &cookies))
        return;
    at = strstr(cookies.text, session_cookie);
    if (at == NULL || (at != cookies.text && at[-1] != ' ' && at[-1] != ';'))
        return;
    at += strlen(session_cookie);
    strbuf_append_bytes(value, at, strcspn(at, "; "));
}

/* A page of another site must not use the browser's cookie: its Origin differs from our host. */
static int check_origin(const struct gateway *gateway, const char *head, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf host = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf scheme = STRBUF_INIT;
    struct web_origin origin;
    struct web_origin own;
    bool is_tls = false;

    if (head_count(head, "Origin") != 1 || head_count(head, "Host") != 1 ||
        !head_header(head, "Origin", &text) || !head_header(head, "Host", &host))
        return error_set(err, ERROR_FORBIDDEN, "a cookie needs an Origin");
    is_tls = head_header(head, "X-Deft-Scheme", &scheme) && text_equal(scheme.text, "https");
    if (!web_origin_read(text.text, &origin) ||
        !web_origin_of_request(gateway->app_url, is_tls, host.text, &own) ||
        !web_origin_equal(&origin, &own))
        return error_set(err, ERROR_FORBIDDEN, "foreign Origin");
    return 0;
}

static int read_session(const struct gateway *gateway, const char *head,
                        struct handshake *handshake, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf side = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;

    read_cookie(head, &token);
    if (!head_header(head, "X-Deft-Origin", &side) || !text_equal(side.text, "app") ||
        token.len == 0)
        return 0;
    if (check_origin(gateway, head, err) < 0)
        return -1;
    principal_question_of_session(&gateway->keyring, token.text, &handshake->caller);
    handshake->has_credential = true;
    return 0;
}

/*
 * A key in the query takes precedence over the header; without either the first frame must bring
 * it.
 */
static int read_credential(const struct gateway *gateway, const char *head,
                           struct handshake *handshake, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;

    if (!head_query(head, "session_api_key", &key) || key.len == 0)
        handshake->has_credential = head_header(head, "X-Session-API-Key", &key);
    if (key.len == 0) {
        handshake->has_credential = false;
        return read_session(gateway, head, handshake, err);
    }
    handshake->has_credential = true;
    return principal_question_of_key(&gateway->keyring, key.text, &handshake->caller, err);
}

/* Set by nginx; clients cannot set it. */
static void read_address(const char *head, struct socket_request *request)
{
    CLEANUP(strbuf_done) struct strbuf address = STRBUF_INIT;

    if (head_header(head, "X-Real-IP", &address) && address.len < sizeof(request->address))
        memcpy(request->address, address.text, address.len + 1);
}

int handshake_read(const struct gateway *gateway, const char *head, struct handshake *handshake_out,
                   struct error *err)
{
    struct socket_request *request = &handshake_out->request;

    if (check_upgrade(head, err) < 0 || read_path(head, request, err) < 0 ||
        read_resend(head, request, err) < 0 || read_after_seq(head, request, err) < 0)
        return -1;
    read_address(head, request);
    return read_credential(gateway, head, handshake_out, err);
}
