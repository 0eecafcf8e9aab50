#include "gateway/inbox.h"

#include <string.h>

#include <jansson.h>

#include "auth/principal.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/uuid.h"
#include "gateway/frame.h"
#include "gateway/gateway.h"
#include "gateway/subscriber.h"
#include "model/event.h"
#include "store/conversation_post.h"
#include "store/conversation_store.h"
#include "store/hints.h"

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

/* Says on the socket what was wrong; the connection stays open. */
static void complain(struct subscriber *subscriber, const char *code, const char *detail)
{
    json_auto_t *json = subscriber->request.kind == SOCKET_SESSION
                            ? session_error(code, detail)
                            : server_error_event(code, detail);
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    json_append_text(&text, json);
    subscriber_reply(subscriber, frame_new(text.text, text.len, 0));
}

static bool is_auth_frame(const json_t *frame)
{
    return text_equal(json_text_or(frame, "type", ""), "auth");
}

static void take_key(struct subscriber *subscriber, const json_t *frame)
{
    const char *key = json_text_or(frame, "session_api_key", "");
    struct gateway *gateway = subscriber->gateway;
    struct error err = ERROR_INIT;

    if (!is_auth_frame(frame) || key[0] == '\0') {
        subscriber_close(subscriber, SUBSCRIBER_UNAUTHENTICATED);
        return;
    }
    if (principal_from_key(gateway->db, &gateway->keyring, key, &subscriber->principal, &err) < 0) {
        subscriber_close(subscriber, error_is_transient(&err) ? SUBSCRIBER_UNAVAILABLE
                                                              : SUBSCRIBER_UNAUTHENTICATED);
        return;
    }
    subscriber_attach(subscriber);
}

static int post(struct subscriber *subscriber, json_t *message, struct error *err)
{
    json_auto_t *content = NULL;
    struct conversation_scope scope = principal_scope(&subscriber->principal);
    json_t *input = json_object_get(message, "content");

    if (!json_is_object(message) || input == NULL)
        return error_set(err, ERROR_INVALID, "a message has role and content");
    if (!text_equal(json_text_or(message, "role", "user"), "user"))
        return error_set(err, ERROR_INVALID, "only the role user can send messages");
    if (content_read(input, &content, err) < 0)
        return -1;
    return conversation_post_message(subscriber->gateway->db, &scope,
                                     &subscriber->request.conversation_id, content, true, err);
}

static void take_message(struct subscriber *subscriber, json_t *message)
{
    const char *id = subscriber->request.conversation_id.text;
    struct error err = ERROR_INIT;

    /* A client that came with its key in the URL may send it again: nothing to do. */
    if (is_auth_frame(message))
        return;
    if (post(subscriber, message, &err) < 0) {
        if (err.code != ERROR_INVALID && err.code != ERROR_TOO_LARGE)
            log_warning("message.failed", LOG_STR("conversation_id", id), LOG_ERROR(&err));
        complain(subscriber, err.code == ERROR_INVALID ? "ValidationError" : "ServerError",
                 err.message);
        return;
    }
    hints_send(subscriber->gateway->hints, HINT_EVENTS, id);
    hints_send(subscriber->gateway->hints, HINT_WORK, id);
}

void inbox_handle(struct subscriber *subscriber)
{
    json_auto_t *frame = NULL;
    struct error err = ERROR_INIT;
    int rc = json_parse(subscriber->incoming.text, subscriber->incoming.len, &frame, &err);

    if (subscriber->principal.kind == PRINCIPAL_NOBODY)
        take_key(subscriber, rc == 0 ? frame : NULL);
    else if (rc < 0)
        complain(subscriber, "JSONDecodeError", err.message);
    else
        take_message(subscriber, frame);
}
