#include "gateway/ws/subscriber.h"

#include <libwebsockets.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/bash/bash_reader.h"
#include "gateway/ws/client_messages.h"
#include "gateway/ws/ws_services.h"

void subscriber_done(struct subscriber *subscriber)
{
    revocation_leave(&subscriber->revocable);
    event_reader_leave(&subscriber->events);
    bash_reader_leave(TAKE_PTR(subscriber->bash));
    client_messages_leave(TAKE_PTR(subscriber->messages));
    strbuf_done(&subscriber->incoming);
    connection_done(&subscriber->connection);
}

void subscriber_watch_credential(struct subscriber *subscriber)
{
    const struct principal *principal = &subscriber->principal;

    subscriber->revocable.connection = &subscriber->connection;
    subscriber->revocable.credential_id =
        principal->kind == PRINCIPAL_SANDBOX_KEY ? principal->runtime_id : principal->key_id.text;
    revocation_join(subscriber->services->revocation, &subscriber->revocable, subscriber->n_hints);
}

/* The close frame goes out when the socket becomes writable; until then it costs nothing more. */
static void close_slow(struct subscriber *subscriber)
{
    if (subscriber->connection.end == CONNECTION_OPEN)
        subscriber->connection.end = CONNECTION_TOO_SLOW;
    log_info("socket.slow", LOG_STR("conversation_id", subscriber->request.conversation_id.text),
             LOG_STR("session_id", subscriber->principal.runtime_session));
    event_reader_leave(&subscriber->events);
    bash_reader_leave(TAKE_PTR(subscriber->bash));
}

void subscribers_close_slow(struct connection_queue *waiting, int64_t now_ms, int64_t slow_ms)
{
    struct connection *slow = connection_take_slow(waiting, now_ms, slow_ms);

    while (slow != NULL) {
        close_slow(lws_container_of(slow, struct subscriber, connection));
        slow = connection_take_slow(waiting, now_ms, slow_ms);
    }
}

/* Replies are held back until the first snapshot was sent. */
static bool reply_is_due(const struct subscriber *subscriber)
{
    return subscriber->connection.n_replies > 0 &&
           (subscriber->bash != NULL || event_reader_has_begun(&subscriber->events));
}

struct frame *subscriber_next_frame(struct subscriber *subscriber)
{
    if (reply_is_due(subscriber))
        return connection_take_reply(&subscriber->connection);
    if (subscriber->bash != NULL)
        return bash_reader_next_frame(subscriber->bash);
    return event_reader_next_frame(&subscriber->events);
}

bool subscriber_has_more(const struct subscriber *subscriber)
{
    if (subscriber->connection.end != CONNECTION_OPEN || reply_is_due(subscriber))
        return true;
    if (subscriber->bash != NULL)
        return bash_reader_has_more(subscriber->bash);
    return event_reader_has_more(&subscriber->events);
}
