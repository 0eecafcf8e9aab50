#include "gateway/ws/upgrade_request.h"

#include <string.h>

#include "auth/credential_header.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"

struct socket_path {
    const char *prefix;
    enum socket_kind kind;
};

static const struct socket_path paths[] = {
    {"/sockets/events/", SOCKET_EVENTS},
    {"/sockets/session/", SOCKET_SESSION},
    {"/sockets/bash-events", SOCKET_BASH},
};

/* Reads the path after the prefix: a conversation, except on bash-events, which has none. */
static int read_conversation(const char *rest, struct socket_request *request, struct error *err)
{
    bool is_fine = request->kind == SOCKET_BASH ? rest[0] == '\0'
                                                : uuid_parse(rest, &request->conversation_id);

    return is_fine ? 0
                   : error_set(err, ERROR_INVALID, "the path does not contain a conversation id");
}

static int read_path(const char *path, struct socket_request *request, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        if (!text_starts_with(path, paths[i].prefix))
            continue;
        request->kind = paths[i].kind;
        return read_conversation(path + strlen(paths[i].prefix), request, err);
    }
    return error_set(err, ERROR_INVALID, "there is no WebSocket at this path");
}

static int read_since(const char *timestamp, struct socket_request *request, struct error *err)
{
    char naive[CLOCK_TEXT_BYTES];
    int64_t utc_us = 0;

    if (timestamp[0] == '\0')
        return 0;
    if (clock_parse(timestamp, &utc_us, err) < 0)
        return -1;
    clock_format_naive(utc_us, naive);
    memcpy(request->since, naive, sizeof(naive));
    return 0;
}

static bool is_yes(const char *value)
{
    return text_equal_nocase(value, "true") || text_equal(value, "1");
}

static int read_resend(const struct upgrade_fields *fields, struct socket_request *request,
                       struct error *err)
{
    if (is_yes(fields->resend_all))
        request->resend = RESEND_ALL;
    if (text_equal(fields->resend_mode, "all"))
        request->resend = RESEND_ALL;
    else if (text_equal(fields->resend_mode, "since"))
        request->resend = RESEND_SINCE;
    else if (fields->resend_mode[0] != '\0')
        return error_set(err, ERROR_INVALID, "resend_mode must be all or since");
    return read_since(fields->after_timestamp, request, err);
}

static int read_after_seq(const char *text, struct socket_request *request, struct error *err)
{
    request->after_seq = -2;
    if (text[0] == '\0')
        return 0;
    return text_parse_int(text, -1, INT64_MAX / 2, &request->after_seq, err);
}

static int read_credential(const char *text, struct upgrade_request *upgrade, struct error *err)
{
    if (text[0] == '\0')
        return 0;
    if (!credential_header_read(text, &upgrade->caller))
        return error_set(err, ERROR_INVALID, "no credential");
    upgrade->has_credential = true;
    return 0;
}

int upgrade_request_read(const struct upgrade_fields *fields, struct upgrade_request *upgrade_out,
                         struct error *err)
{
    struct socket_request *request = &upgrade_out->request;

    /* Without it libwebsockets hangs up, which nginx would report as a server error. */
    if (fields->websocket_key[0] == '\0')
        return error_set(err, ERROR_INVALID, "no Sec-WebSocket-Key");
    if (read_path(fields->path, request, err) < 0 || read_resend(fields, request, err) < 0 ||
        read_after_seq(fields->after_seq, request, err) < 0)
        return -1;
    request->wants_tool_progress = is_yes(fields->tool_progress);
    if (strlen(fields->address) < sizeof(request->address))
        memcpy(request->address, fields->address, strlen(fields->address) + 1);
    return read_credential(fields->credential, upgrade_out, err);
}
