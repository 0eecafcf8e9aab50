#include "gateway/ws/client_messages.h"

#include <stdint.h>

#include <jansson.h>

#include "auth/principal.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/uuid.h"
#include "gateway/core/connection.h"
#include "gateway/core/error_frame.h"
#include "gateway/ws/ws_services.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "store/conversation/async_post.h"
#include "store/conversation/conversation_store.h"

/* Limit of one socket's messages that are not stored yet. */
enum { WAITING_MAX = 32 };

/* Messages are stored one at a time, so the log keeps the client's order. */
struct client_messages {
    const struct ws_services *services;
    struct connection *connection; /* NULL when it is closed */
    struct principal principal;
    struct uuid conversation_id;
    struct async_post *posting; /* NULL: none */
    json_t *waiting;            /* in the form that async_post_new() takes, oldest first */
};

struct client_messages *client_messages_new(const struct ws_services *services,
                                            struct connection *connection,
                                            const struct principal *principal,
                                            const struct uuid *conversation_id)
{
    struct client_messages *messages = NEW(struct client_messages);

    messages->services = services;
    messages->connection = connection;
    messages->principal = *principal;
    messages->conversation_id = *conversation_id;
    messages->waiting = json_array();
    return messages;
}

static void free_if_idle(struct client_messages *messages)
{
    if (messages->posting != NULL || messages->connection != NULL)
        return;
    json_decref(messages->waiting);
    mem_free(messages);
}

void client_messages_leave(struct client_messages *messages)
{
    if (messages == NULL)
        return;
    messages->connection = NULL;
    free_if_idle(messages);
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

static void say_failed(const struct client_messages *messages, const struct error *err)
{
    if (err->code != ERROR_INVALID && err->code != ERROR_TOO_LARGE &&
        err->code != ERROR_RATE_LIMITED && err->code != ERROR_CONFLICT)
        log_warning("message.failed", LOG_STR("conversation_id", messages->conversation_id.text),
                    LOG_ERROR(err));
    if (messages->connection != NULL)
        error_frame_send(messages->connection, code_of(err), err->message);
}

static void post_next(struct client_messages *messages);

static void on_posted(struct async_post *post, const struct error *err)
{
    struct client_messages *messages = post->owner;

    if (err != NULL)
        say_failed(messages, err);
    async_post_free(TAKE_PTR(messages->posting));
    post_next(messages);
    free_if_idle(messages);
}

static void post_next(struct client_messages *messages)
{
    struct conversation_scope scope = principal_scope(&messages->principal);

    if (messages->posting != NULL || json_array_size(messages->waiting) == 0)
        return;
    messages->posting =
        async_post_new(messages->services->back, &scope, &messages->conversation_id,
                       json_array_get(messages->waiting, 0), &messages->services->run_limits);
    messages->posting->catalogue = messages->services->catalogue;
    messages->posting->owner = messages;
    messages->posting->done = on_posted;
    (void)json_array_remove(messages->waiting, 0);
    async_post_start(messages->posting);
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
        return error_set(err, ERROR_INVALID, "a message must have role and content");
    if (!text_equal(json_text_or(message, "role", "user"), "user"))
        return error_set(err, ERROR_INVALID, "only messages with the role user are accepted");
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

void client_messages_take(struct client_messages *messages, const json_t *message)
{
    json_t *kept = NULL;
    struct error err = ERROR_INIT;

    if (!principal_may(&messages->principal, SANDBOX_DRIVES)) {
        error_frame_send(messages->connection, "Forbidden", "A sandbox's key may not do this");
        return;
    }
    if (read_message(message, &kept, &err) < 0) {
        error_frame_send(messages->connection, "ValidationError", err.message);
        return;
    }
    if (json_array_size(messages->waiting) >= WAITING_MAX) {
        json_decref(kept);
        connection_close(messages->connection, CONNECTION_TOO_NOISY);
        return;
    }
    json_push(messages->waiting, kept);
    post_next(messages);
}
