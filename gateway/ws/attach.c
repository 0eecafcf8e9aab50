#include "gateway/ws/attach.h"

#include <stdbool.h>
#include <stddef.h>

#include <libwebsockets.h>

#include "auth/principal.h"
#include "auth/wrong_keys.h"
#include "base/error.h"
#include "base/mem.h"
#include "gateway/bash/bash_reader.h"
#include "gateway/core/connection.h"
#include "gateway/feed/event_reader.h"
#include "gateway/ws/revocation.h"
#include "gateway/ws/subscriber.h"
#include "gateway/ws/ws_services.h"
#include "store/conversation/conversation_store.h"
#include "store/db/db_async.h"

struct attach {
    struct subscriber *subscriber;
    bool has_sent_key; /* in its first frame */
    struct caller_query caller;
    struct position_query place;
};

void attach_free(struct attach *attach)
{
    if (attach == NULL)
        return;
    async_query_cancel(&attach->caller.pending);
    async_query_cancel(&attach->place.pending);
    mem_free(attach);
}

static struct attach *attach_of(struct subscriber *subscriber)
{
    if (subscriber->attach == NULL) {
        subscriber->attach = NEW(struct attach);
        subscriber->attach->subscriber = subscriber;
    }
    return subscriber->attach;
}

/*
 * Input is read once the socket has its place: a message that is stored before the place is found
 * would not be sent to its own sender.
 */
static void hold_input(struct subscriber *subscriber)
{
    (void)lws_rx_flow_control(subscriber->connection.wsi, 0);
}

static void read_input(struct subscriber *subscriber)
{
    (void)lws_rx_flow_control(subscriber->connection.wsi, 1);
}

/* --- attaching --- */

static void on_place(struct position_query *place, const struct error *err)
{
    struct attach *attach = lws_container_of(place, struct attach, place);
    struct subscriber *subscriber = attach->subscriber;
    const struct event_reader_start start = {
        .request = &subscriber->request, .place = place, .user_id = &subscriber->principal.user_id};

    read_input(subscriber);
    if (err == NULL)
        event_reader_join(&subscriber->events, subscriber->services->feed, &subscriber->connection,
                          &start);
    else
        connection_close(&subscriber->connection, err->code == ERROR_NOT_FOUND
                                                      ? CONNECTION_NOT_FOUND
                                                      : CONNECTION_UNAVAILABLE);
    attach_free(TAKE_PTR(subscriber->attach));
}

static void find_place(struct subscriber *subscriber)
{
    struct attach *attach = attach_of(subscriber);
    struct conversation_scope scope = principal_scope(&subscriber->principal);
    const struct socket_request *request = &subscriber->request;

    attach->place = (struct position_query){
        .conversation_id = request->conversation_id,
        .user_id = scope.user_id,
        .runtime_session = scope.runtime_session,
        .since =
            request->resend == RESEND_SINCE && request->since[0] != '\0' ? request->since : NULL,
        .done = on_place,
    };
    async_store_find_position(subscriber->services->live, &attach->place);
}

static void begin(struct subscriber *subscriber)
{
    const struct bash_reader_start start = {.principal = &subscriber->principal,
                                            .request = &subscriber->request};

    if (subscriber->request.kind != SOCKET_BASH) {
        find_place(subscriber);
        return;
    }
    read_input(subscriber);
    subscriber->bash =
        bash_reader_join(subscriber->services->bash_feeds, &subscriber->connection, &start);
    attach_free(TAKE_PTR(subscriber->attach));
}

/* --- authenticating --- */

static void refuse(struct subscriber *subscriber, const struct error *why)
{
    enum connection_end end = CONNECTION_UNAUTHENTICATED;

    if (why->code == ERROR_RATE_LIMITED)
        end = CONNECTION_TOO_MANY_KEYS;
    else if (error_is_transient(why))
        end = CONNECTION_UNAVAILABLE;
    connection_close(&subscriber->connection, end);
}

static void refuse_key(struct subscriber *subscriber, struct error *why)
{
    error_ignore(
        wrong_keys_refuse(subscriber->services->wrong_keys, subscriber->request.address, why),
        "the reply shows the current state");
    refuse(subscriber, why);
}

static void take_caller(struct subscriber *subscriber, const struct caller_query *caller)
{
    /* A session ends; keys have no expiry. */
    if (caller->kind == CALLER_SESSION)
        lws_set_timer_usecs(subscriber->connection.wsi, caller->valid_ms * LWS_US_PER_MS);
    subscriber_watch_credential(subscriber);
    begin(subscriber);
}

static void on_caller(struct caller_query *caller, const struct error *err)
{
    struct attach *attach = lws_container_of(caller, struct attach, caller);
    struct subscriber *subscriber = attach->subscriber;
    struct error bad = ERROR_INIT;

    if (err != NULL)
        bad = *err;
    if (err == NULL && principal_from_caller(caller, &subscriber->principal, &bad) == 0) {
        take_caller(subscriber, caller);
        return;
    }
    read_input(subscriber);
    if (attach->has_sent_key)
        refuse_key(subscriber, &bad);
    else
        refuse(subscriber, &bad);
    attach_free(TAKE_PTR(subscriber->attach));
}

/* The hints are counted before the look-up, so that an end that follows it is not missed. */
static void find_caller(struct subscriber *subscriber)
{
    const struct ws_services *services = subscriber->services;
    struct attach *attach = subscriber->attach;

    attach->caller.done = on_caller;
    subscriber->n_hints = services->revocation->n_hints;
    hold_input(subscriber);
    async_store_find_caller(services->back, &attach->caller);
}

void attach_credential(struct subscriber *subscriber, const struct caller_query *credential)
{
    struct attach *attach = attach_of(subscriber);

    attach->caller = *credential;
    find_caller(subscriber);
}

void attach_key(struct subscriber *subscriber, const char *key)
{
    struct attach *attach = attach_of(subscriber);
    struct error err = ERROR_INIT;

    attach->has_sent_key = true;
    if (principal_query_of_key(subscriber->services->keyring, key, &attach->caller, &err) < 0)
        refuse_key(subscriber, &err);
    else
        find_caller(subscriber);
}
