#include "gateway/core/error_frame.h"

#include <jansson.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "gateway/core/connection.h"
#include "gateway/core/frame.h"

static json_t *server_error_event(const char *code, const char *detail)
{
    json_t *event = json_object();
    struct uuid id = uuid_random();
    char stamp[CLOCK_TEXT_BYTES];

    clock_format_naive(clock_utc_us(), stamp);
    json_put_text(event, "id", id.text);
    json_put_text(event, "timestamp", stamp);
    json_put_text(event, "source", "environment");
    json_put_text(event, "code", code);
    json_put_text(event, "detail", detail);
    json_put_text(event, "kind", "ServerErrorEvent");
    return event;
}

static json_t *session_error(const char *code, const char *detail)
{
    json_t *frame = json_object();

    json_put_text(frame, "type", "error");
    json_put_text(frame, "code", code);
    json_put_text(frame, "detail", detail);
    return frame;
}

static json_t *bash_error(const char *code, const char *detail)
{
    json_t *event = json_object();
    struct uuid id = uuid_random();
    char hex[UUID_HEX_BYTES];
    char stamp[CLOCK_TEXT_BYTES];

    uuid_to_hex(&id, hex);
    clock_format_z(clock_utc_us(), stamp);
    json_put_text(event, "id", hex);
    json_put_text(event, "timestamp", stamp);
    json_put_text(event, "code", code);
    json_put_text(event, "detail", detail);
    json_put_text(event, "kind", "BashError");
    return event;
}

static json_t *(*const forms[SOCKET_N_KINDS])(const char *code, const char *detail) = {
    [SOCKET_EVENTS] = server_error_event,
    [SOCKET_SESSION] = session_error,
    [SOCKET_BASH] = bash_error,
};

void error_frame_send(struct connection *connection, const char *code, const char *detail)
{
    json_auto_t *json = forms[connection->kind](code, detail);
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    json_append_text(&text, json);
    connection_reply(connection, frame_new(text.text, text.len));
}
