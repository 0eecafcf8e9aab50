#include "gateway/inbox.h"

#include <stdint.h>

#include <jansson.h>

#include "auth/principal.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/uuid.h"
#include "gateway/arrival.h"
#include "gateway/bash_socket.h"
#include "gateway/complaint.h"
#include "gateway/gateway.h"
#include "gateway/subscriber.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/live_post.h"
#include "store/db/live_listen.h"

/* Limit of one socket's messages that are not stored yet. */
enum { WAITING_MAX = 32 };

static bool is_auth_frame(const json_t *frame)
{
    return text_equal(json_text_or(frame, "type", ""), "auth");
}

static void take_key(struct subscriber *subscriber, const json_t *frame)
{
    const char *key = json_text_or(frame, "session_api_key", "");

    if (!is_auth_frame(frame) || key[0] == '\0')
        subscriber_close(subscriber, SUBSCRIBER_UNAUTHENTICATED);
    else
        arrival_authenticate(subscriber, key);
}

/* --- messages --- */

/* Messages are stored one at a time, so the log keeps the client's order. */
struct inbox {
    struct gateway *gateway;
    struct subscriber *subscriber; /* NULL when it is closed */
    struct principal principal;
    struct uuid conversation_id;
    struct live_post *posting; /* NULL: none */
    json_t *waiting;           /* in the form that live_post_new() takes, oldest first */
};

static struct inbox *inbox_new(struct subscriber *subscriber)
{
    struct inbox *inbox = NEW(struct inbox);

    inbox->gateway = subscriber->gateway;
    inbox->subscriber = subscriber;
    inbox->principal = subscriber->principal;
    inbox->conversation_id = subscriber->request.conversation_id;
    inbox->waiting = json_array();
    return inbox;
}

static void free_if_idle(struct inbox *inbox)
{
    if (inbox->posting != NULL || inbox->subscriber != NULL)
        return;
    json_decref(inbox->waiting);
    mem_free(inbox);
}

void inbox_leave(struct inbox *inbox)
{
    if (inbox == NULL)
        return;
    inbox->subscriber = NULL;
    free_if_idle(inbox);
}

/* The class by which clients know the failure. */
static const char *code_of(const struct error *err)
{
    if (err->code == ERROR_INVALID)
        return "ValidationError";
    if (err->code == ERROR_CONFLICT)
        return "ConflictError";
    return err->code == ERROR_RATE_LIMITED ? "RunLimitError" : "ServerError";
}

static void say_failed(const struct inbox *inbox, const struct error *err)
{
    if (err->code != ERROR_INVALID && err->code != ERROR_TOO_LARGE &&
        err->code != ERROR_RATE_LIMITED && err->code != ERROR_CONFLICT)
        log_warning("message.failed", LOG_STR("conversation_id", inbox->conversation_id.text),
                    LOG_ERROR(err));
    if (inbox->subscriber != NULL)
        complaint_send(inbox->subscriber, code_of(err), err->message);
}

static void post_next(struct inbox *inbox);

static void on_posted(struct live_post *post, const struct error *err)
{
    struct inbox *inbox = post->owner;

    if (err != NULL)
        say_failed(inbox, err);
    /* Above the limit only the run is refused: the message is stored. */
    if (err == NULL || err->code == ERROR_RATE_LIMITED)
        live_hint(inbox->gateway->hints, HINT_EVENTS, inbox->conversation_id.text);
    if (err == NULL)
        live_hint(inbox->gateway->hints, HINT_WORK, inbox->conversation_id.text);
    live_post_free(TAKE_PTR(inbox->posting));
    post_next(inbox);
    free_if_idle(inbox);
}

static void post_next(struct inbox *inbox)
{
    struct conversation_scope scope = principal_scope(&inbox->principal);

    if (inbox->posting != NULL || json_array_size(inbox->waiting) == 0)
        return;
    inbox->posting = live_post_new(inbox->gateway->back, &scope, &inbox->conversation_id,
                                   json_array_get(inbox->waiting, 0), &inbox->gateway->run_limits);
    inbox->posting->owner = inbox;
    inbox->posting->done = on_posted;
    (void)json_array_remove(inbox->waiting, 0);
    live_post_start(inbox->posting);
}

static int check_sender(const json_t *sender, struct error *err)
{
    if (sender == NULL || json_is_null(sender))
        return 0;
    if (!json_is_string(sender))
        return error_set(err, ERROR_INVALID, "sender: Input should be a valid string");
    if (utf8_length(json_string_value(sender), json_string_length(sender)) > SENDER_MAX_CHARS)
        return error_set(err, ERROR_INVALID, "sender: String should have at most %d characters",
                         SENDER_MAX_CHARS);
    return 0;
}

/*
 * The same rules as the REST routes (fcgi/agent/conversation/seen_calls.h); absent and null mean
 * none.
 */
static int check_action_ids(const json_t *ids, struct error *err)
{
    const json_t *id = NULL;
    size_t i = 0;

    if (ids == NULL || json_is_null(ids))
        return 0;
    if (!json_is_array(ids) || json_array_size(ids) > ACTION_IDS_MAX)
        return error_set(err, ERROR_INVALID,
                         "action_ids: Input should be a list of at most %d action ids",
                         ACTION_IDS_MAX);
    json_array_foreach ((json_t *)(uintptr_t)ids, i, id) {
        if (!json_is_string(id))
            return error_set(err, ERROR_INVALID, "action_ids: Input should be a valid string");
    }
    return 0;
}

/* Copies the members that are stored. */
static int read_message(const json_t *message, json_t **kept_out, struct error *err)
{
    json_t *input = json_object_get(message, "content");
    json_t *sender = json_object_get(message, "sender");
    json_t *ids = json_object_get(message, "action_ids");
    json_t *content = NULL;

    if (!json_is_object(message) || input == NULL)
        return error_set(err, ERROR_INVALID, "a message has role and content");
    if (!text_equal(json_text_or(message, "role", "user"), "user"))
        return error_set(err, ERROR_INVALID, "only the role user can send messages");
    if (check_sender(sender, err) < 0 || check_action_ids(ids, err) < 0 ||
        content_read(input, &content, err) < 0)
        return -1;
    *kept_out = json_object();
    json_put(*kept_out, "content", content);
    json_put(*kept_out, "sender", sender != NULL ? json_incref(sender) : json_null());
    if (json_is_array(ids))
        json_put(*kept_out, "action_ids", json_incref(ids));
    return 0;
}

static void take_message(struct subscriber *subscriber, const json_t *message)
{
    json_t *kept = NULL;
    struct error err = ERROR_INIT;

    /* A client that came with its key in the URL may send it again: nothing to do. */
    if (is_auth_frame(message))
        return;
    if (!principal_may(&subscriber->principal, SANDBOX_DRIVES)) {
        complaint_send(subscriber, "Forbidden", "A sandbox's key may not do this");
        return;
    }
    if (read_message(message, &kept, &err) < 0) {
        complaint_send(subscriber, "ValidationError", err.message);
        return;
    }
    if (subscriber->inbox == NULL)
        subscriber->inbox = inbox_new(subscriber);
    if (json_array_size(subscriber->inbox->waiting) >= WAITING_MAX) {
        json_decref(kept);
        subscriber_close(subscriber, SUBSCRIBER_TOO_NOISY);
        return;
    }
    json_push(subscriber->inbox->waiting, kept);
    post_next(subscriber->inbox);
}

void inbox_handle(struct subscriber *subscriber)
{
    json_auto_t *frame = NULL;
    struct error err = ERROR_INIT;
    int rc = json_parse(subscriber->incoming.text, subscriber->incoming.len, &frame, &err);

    if (subscriber->principal.kind == PRINCIPAL_NOBODY)
        take_key(subscriber, rc == 0 ? frame : NULL);
    else if (rc < 0)
        complaint_send(subscriber, "JSONDecodeError", err.message);
    else if (subscriber->request.kind == SOCKET_BASH && !is_auth_frame(frame))
        bash_socket_take_command(subscriber, frame);
    else
        take_message(subscriber, frame);
}
