#include "gateway/arrival.h"

#include <libwebsockets.h>

#include "auth/principal.h"
#include "auth/wrong_keys.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "gateway/bash_socket.h"
#include "gateway/frame.h"
#include "gateway/gateway.h"
#include "gateway/model_waits.h"
#include "gateway/stream.h"
#include "gateway/subscriber.h"
#include "model/event/progress.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/live_store.h"
#include "store/db/db_pipe.h"

struct arrival {
    struct subscriber *subscriber;
    struct caller_question caller;
    struct place_question place;
};

void arrival_free(struct arrival *arrival)
{
    if (arrival == NULL)
        return;
    db_ticket_forget(&arrival->caller.ticket);
    db_ticket_forget(&arrival->place.ticket);
    mem_free(arrival);
}

static struct arrival *arrival_of(struct subscriber *subscriber)
{
    if (subscriber->arrival == NULL) {
        subscriber->arrival = NEW(struct arrival);
        subscriber->arrival->subscriber = subscriber;
    }
    return subscriber->arrival;
}

/* --- attaching --- */

static void join_stream(struct subscriber *subscriber, struct stream *stream)
{
    subscriber->stream = stream;
    subscriber->next = stream->subscribers;
    if (stream->subscribers != NULL)
        stream->subscribers->previous = subscriber;
    stream->subscribers = subscriber;
    stream->n_subscribers++;
    subscriber->progress.n_seen =
        stream->progress != NULL ? progress_log_count(stream->progress) : stream->n_progress;
}

static struct frame *progress_frame(const struct progress *progress)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    progress_append_frame(progress, &text);
    return frame_new(text.text, text.len);
}

/* Prepares frames that show the last failed attempt as if it had begun and ended now. */
static void tell_wait(struct subscriber *subscriber, const struct place_question *place)
{
    struct progress ended = {.conversation_id = place->conversation_id};
    struct progress started = ended;

    if (!model_waits_find(subscriber->gateway->model_waits, place->conversation_id.text,
                          place->last_seq, clock_monotonic_ms(), &ended))
        return;
    started = ended;
    started.kind = PROGRESS_STARTED;
    subscriber->wait[0] = progress_frame(&started);
    subscriber->wait[1] = progress_frame(&ended);
}

/* Pieces of an answer end a silence, too, although they are not events. */
static int64_t silence(const struct subscriber *subscriber, const struct place_question *place)
{
    int64_t heard_ms =
        model_waits_heard_ms(subscriber->gateway->model_waits, place->conversation_id.text);
    int64_t unheard_ms = clock_monotonic_ms() - heard_ms;

    return heard_ms >= 0 && unheard_ms < place->silent_ms ? unheard_ms : place->silent_ms;
}

/* The start of the replay: places the cursor before the first event to send. */
static void place_cursor(struct subscriber *subscriber, const struct place_question *place)
{
    const struct socket_request *request = &subscriber->request;

    subscriber->cursor = place->last_seq;
    subscriber->history_end = place->last_seq;
    if (request->kind == SOCKET_SESSION) {
        if (request->after_seq >= -1 && request->after_seq + 1 < place->last_seq)
            subscriber->cursor = request->after_seq + 1;
        subscriber->sync = frame_sync(&(struct sync){.from_seq = request->after_seq,
                                                     .through_seq = place->last_seq - 1,
                                                     .silent_ms = silence(subscriber, place)});
        tell_wait(subscriber, place);
        return;
    }
    if (request->resend == RESEND_ALL)
        subscriber->cursor = 0;
    if (request->resend == RESEND_SINCE && request->since[0] != '\0')
        subscriber->cursor = place->since_seq;
}

static void attach(struct subscriber *subscriber, const struct place_question *place)
{
    struct stream *stream =
        stream_get(subscriber->gateway, &place->conversation_id, &subscriber->principal.user_id);

    if ((int64_t)stream->n_subscribers >= subscriber->gateway->max_subscribers) {
        subscriber_close(subscriber, SUBSCRIBER_TOO_MANY);
        return;
    }
    join_stream(subscriber, stream);
    /* A new stream starts at the log's end: its subscribers fetch older events themselves. */
    if (stream->last_seq < 0) {
        stream->last_seq = place->last_seq;
        stream->snapshot_version = place->snapshot_version;
    }
    place_cursor(subscriber, place);
    subscriber_wake(subscriber);
}

static void on_place(struct place_question *place, const struct error *err)
{
    struct arrival *arrival = lws_container_of(place, struct arrival, place);
    struct subscriber *subscriber = arrival->subscriber;

    if (err == NULL)
        attach(subscriber, place);
    else
        subscriber_close(subscriber, err->code == ERROR_NOT_FOUND ? SUBSCRIBER_NOT_FOUND
                                                                  : SUBSCRIBER_UNAVAILABLE);
    arrival_free(TAKE_PTR(subscriber->arrival));
}

static void begin_place(struct subscriber *subscriber)
{
    struct arrival *arrival = arrival_of(subscriber);
    struct conversation_scope scope = principal_scope(&subscriber->principal);
    const struct socket_request *request = &subscriber->request;

    arrival->place = (struct place_question){
        .conversation_id = request->conversation_id,
        .user_id = scope.user_id,
        .runtime_session = scope.runtime_session,
        .since =
            request->resend == RESEND_SINCE && request->since[0] != '\0' ? request->since : NULL,
        .done = on_place,
    };
    live_ask_place(subscriber->gateway->live, &arrival->place);
}

void arrival_begin(struct subscriber *subscriber)
{
    if (subscriber->request.kind != SOCKET_BASH) {
        begin_place(subscriber);
        return;
    }
    bash_socket_join(subscriber);
    arrival_free(TAKE_PTR(subscriber->arrival));
}

/* --- authenticating --- */

static void refuse_key(struct subscriber *subscriber, struct error *why)
{
    enum subscriber_end end = SUBSCRIBER_UNAUTHENTICATED;

    error_ignore(
        wrong_keys_refuse(subscriber->gateway->wrong_keys, subscriber->request.address, why),
        "what it is now is answered");
    if (why->code == ERROR_RATE_LIMITED)
        end = SUBSCRIBER_TOO_MANY_KEYS;
    else if (error_is_transient(why))
        end = SUBSCRIBER_UNAVAILABLE;
    subscriber_close(subscriber, end);
}

static void on_caller(struct caller_question *caller, const struct error *err)
{
    struct arrival *arrival = lws_container_of(caller, struct arrival, caller);
    struct subscriber *subscriber = arrival->subscriber;
    struct error bad = ERROR_INIT;

    (void)lws_rx_flow_control(subscriber->wsi, 1);
    if (err != NULL)
        bad = *err;
    if (err == NULL && principal_from_caller(caller, &subscriber->principal, &bad) == 0) {
        callers_join(subscriber, subscriber->n_hints);
        arrival_begin(subscriber);
        return;
    }
    refuse_key(subscriber, &bad);
    arrival_free(TAKE_PTR(subscriber->arrival));
}

void arrival_authenticate(struct subscriber *subscriber, const char *key)
{
    struct arrival *arrival = arrival_of(subscriber);
    struct error err = ERROR_INIT;

    arrival->caller.done = on_caller;
    subscriber->n_hints = subscriber->gateway->callers.n_hints;
    if (principal_question_of_key(&subscriber->gateway->keyring, key, &arrival->caller, &err) < 0) {
        refuse_key(subscriber, &err);
        return;
    }
    /* Input after the key is read once the caller is known. */
    (void)lws_rx_flow_control(subscriber->wsi, 0);
    live_ask_caller(subscriber->gateway->back, &arrival->caller);
}
