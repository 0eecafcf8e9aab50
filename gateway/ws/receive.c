#include "gateway/ws/receive.h"

#include <stdbool.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "gateway/bash/bash_reader.h"
#include "gateway/core/connection.h"
#include "gateway/core/error_frame.h"
#include "gateway/ws/attach.h"
#include "gateway/ws/client_messages.h"
#include "gateway/ws/subscriber.h"

/* The parser runs on the service thread: of an unknown client it reads no more than a key. */
enum { MESSAGE_MAX_BYTES = 1 << 20, AUTH_FRAME_MAX_BYTES = 8192 };

static bool is_auth_frame(const json_t *frame)
{
    return text_equal(json_text_or(frame, "type", ""), "auth");
}

static void take_key(struct subscriber *subscriber, const json_t *frame)
{
    const char *key = json_text_or(frame, "session_api_key", "");

    if (!is_auth_frame(frame) || key[0] == '\0')
        connection_close(&subscriber->connection, CONNECTION_UNAUTHENTICATED);
    else
        attach_key(subscriber, key);
}

static void take_message(struct subscriber *subscriber, const json_t *message)
{
    if (subscriber->messages == NULL)
        subscriber->messages =
            client_messages_new(subscriber->services, &subscriber->connection,
                                &subscriber->principal, &subscriber->request.conversation_id);
    client_messages_take(subscriber->messages, message);
}

static void take_frame(struct subscriber *subscriber, const json_t *frame)
{
    /* A client that came with its key in the URL may send it again: nothing to do. */
    if (is_auth_frame(frame))
        return;
    if (subscriber->request.kind != SOCKET_BASH)
        take_message(subscriber, frame);
    else if (subscriber->bash != NULL && subscriber->connection.end == CONNECTION_OPEN)
        bash_reader_take_command(subscriber->bash, frame);
}

static bool is_known(const struct subscriber *subscriber)
{
    return subscriber->principal.kind != PRINCIPAL_NOBODY;
}

/* A closing socket may stay for a while: it keeps no input. */
static void refuse_length(struct subscriber *subscriber)
{
    strbuf_done(&subscriber->incoming);
    connection_close(&subscriber->connection,
                     is_known(subscriber) ? CONNECTION_TOO_LARGE : CONNECTION_UNAUTHENTICATED);
}

void receive_bytes(struct subscriber *subscriber, const void *bytes, size_t len)
{
    size_t max_bytes = is_known(subscriber) ? MESSAGE_MAX_BYTES : AUTH_FRAME_MAX_BYTES;

    if (subscriber->connection.end != CONNECTION_OPEN)
        return;
    if (subscriber->incoming.len + len > max_bytes)
        refuse_length(subscriber);
    else
        strbuf_append_bytes(&subscriber->incoming, bytes, len);
}

static void take_whole(struct subscriber *subscriber)
{
    json_auto_t *frame = NULL;
    struct error err = ERROR_INIT;
    int rc = json_parse(subscriber->incoming.text, subscriber->incoming.len, &frame, &err);

    if (!is_known(subscriber))
        take_key(subscriber, rc == 0 ? frame : NULL);
    else if (rc < 0)
        error_frame_send(&subscriber->connection, "JSONDecodeError", err.message);
    else
        take_frame(subscriber, frame);
}

void receive_frame(struct subscriber *subscriber)
{
    if (subscriber->connection.end != CONNECTION_OPEN)
        return;
    take_whole(subscriber);
    strbuf_done(&subscriber->incoming);
}
