#include "worker/webhooks/delivery.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"
#include "model/conversation/conversation.h"
#include "model/conversation/webhook.h"
#include "model/event/event.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"

#define SESSION_KEY_HEADER "X-Session-API-Key"

enum { REPLY_MAX_BYTES = 64 * 1024 };

void delivery_done(struct delivery *delivery)
{
    http_call_free(TAKE_PTR(delivery->call));
    webhook_claim_done(&delivery->claim);
}

/* --- sending --- */

static bool has_header(const struct webhook *webhook, const char *name)
{
    for (size_t i = 0; i < webhook->n_headers; i++) {
        if (text_equal_nocase(webhook->headers[i].name, name))
            return true;
    }
    return false;
}

/* headers: room for WEBHOOK_HEADERS_MAX, the key and the terminator; texts are borrowed. */
static void list_headers(const struct delivery *delivery, struct http_header *headers)
{
    const struct webhook *webhook = delivery->claim.webhook;
    const struct secret *key = delivery->means->session_key;
    size_t n = 0;

    for (; n < webhook->n_headers; n++)
        headers[n] = (struct http_header){webhook->headers[n].name,
                                          secret_reveal(&webhook->headers[n].value)};
    if (secret_is_set(key) && !has_header(webhook, SESSION_KEY_HEADER))
        headers[n++] = (struct http_header){SESSION_KEY_HEADER, secret_reveal(key)};
    headers[n] = (struct http_header){NULL, NULL};
}

static int post(struct delivery *delivery, enum delivery_part part, const struct strbuf *url,
                const struct strbuf *body, struct error *err)
{
    struct http_header headers[WEBHOOK_HEADERS_MAX + 2];
    struct http_request request = {
        .method = "POST",
        .url = url->text,
        .headers = headers,
        .body = body->text,
        .body_len = body->len,
        .timeout_ms = delivery->means->timeout_ms,
        .max_reply_bytes = REPLY_MAX_BYTES,
        .address_of = delivery->means->address_of,
        .done_fd = delivery->means->done_fd,
    };

    list_headers(delivery, headers);
    delivery->part = part;
    delivery->n_bytes = body->len;
    return http_start(delivery->means->http, &request, &delivery->call, err);
}

static int post_info(struct delivery *delivery, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    json_auto_t *info = NULL;

    if (conversation_store_load_any(delivery->means->db, &delivery->claim.conversation_id,
                                    &conversation, err) < 0)
        return -1;
    info = conversation_info_brief(&conversation);
    json_append_text(&body, info);
    webhook_append_info_url(delivery->claim.webhook, &url);
    return post(delivery, DELIVERY_PART_INFO, &url, &body, err);
}

static int post_farewell(struct delivery *delivery, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    strbuf_append(&body, delivery->claim.farewell);
    webhook_append_info_url(delivery->claim.webhook, &url);
    return post(delivery, DELIVERY_PART_DELETED, &url, &body, err);
}

/* The form that GET of one event has, with null members. */
static int append_event(struct strbuf *body, const char *text, struct error *err)
{
    json_auto_t *event = NULL;

    if (json_parse_own(text, strlen(text), &event, err) < 0)
        return -1;
    event_fill_nulls(event);
    json_append_text(body, event);
    return 0;
}

/* Appends as many events of the batch as fit, at least one. */
static int append_events(struct delivery *delivery, const struct event_batch *batch,
                         struct strbuf *body, struct error *err)
{
    size_t room = (size_t)delivery->claim.webhook->max_batch_bytes;

    strbuf_append_char(body, '[');
    for (size_t i = 0; i < batch->n; i++) {
        size_t before = body->len;

        if (i > 0)
            strbuf_append_char(body, ',');
        if (append_event(body, batch->bodies[i], err) < 0)
            return -1;
        if (i > 0 && body->len + 1 > room) {
            strbuf_truncate(body, before);
            break;
        }
        delivery->last_seq = batch->seqs[i];
    }
    strbuf_append_char(body, ']');
    return 0;
}

static int post_events(struct delivery *delivery, const struct event_batch *batch,
                       struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    if (append_events(delivery, batch, &body, err) < 0)
        return -1;
    webhook_append_events_url(delivery->claim.webhook, &delivery->claim.conversation_id, &url);
    return post(delivery, DELIVERY_PART_EVENTS, &url, &body, err);
}

/* Starts the next call; if the receiver has everything, releases the cursor instead. */
static int send_next(struct delivery *delivery, struct error *err)
{
    CLEANUP(event_batch_done) struct event_batch batch = {.n = 0};
    const struct webhook_claim *claim = &delivery->claim;

    if (claim->has_news && claim->farewell == NULL)
        return post_info(delivery, err);
    if (webhook_store_read(delivery->means->db, claim, &batch, err) < 0)
        return -1;
    if (batch.n > 0)
        return post_events(delivery, &batch, err);
    if (claim->farewell != NULL)
        return post_farewell(delivery, err);
    return webhook_store_release(delivery->means->db, claim, err);
}

/* --- outcome --- */

static enum delivery_end leave(const struct delivery *delivery, const struct error *err)
{
    log_warning("webhook.delivery_released", LOG_STR("webhook", delivery->claim.webhook->id),
                LOG_STR("conversation_id", delivery->claim.conversation_id.text), LOG_ERROR(err));
    return DELIVERY_LEFT;
}

/* The receiver refused the call, or cannot be called at all. */
static enum delivery_end fail(struct delivery *delivery, long status, const struct error *why)
{
    struct error err = ERROR_INIT;
    int64_t n_dropped = 0;

    log_warning("webhook.failed", LOG_STR("webhook", delivery->claim.webhook->id),
                LOG_STR("conversation_id", delivery->claim.conversation_id.text),
                LOG_INT("status", status), LOG_INT("failures", delivery->claim.n_failures + 1),
                LOG_ERROR(why));
    if (webhook_store_fail(delivery->means->db, &delivery->claim, &n_dropped, &err) < 0)
        return leave(delivery, &err);
    if (n_dropped > 0)
        log_error("webhook.events_dropped", LOG_STR("webhook", delivery->claim.webhook->id),
                  LOG_STR("conversation_id", delivery->claim.conversation_id.text),
                  LOG_INT("n", n_dropped));
    return DELIVERY_FAILED;
}

/* The conversation is gone and no farewell is due: ends the delivery's cursor. */
static enum delivery_end forget(struct delivery *delivery)
{
    struct error err = ERROR_INIT;

    if (webhook_store_end(delivery->means->db, &delivery->claim, &err) < 0)
        return leave(delivery, &err);
    return DELIVERY_DONE;
}

static enum delivery_end next(struct delivery *delivery)
{
    struct error err = ERROR_INIT;

    if (send_next(delivery, &err) == 0)
        return delivery->call != NULL ? DELIVERY_GOES_ON : DELIVERY_DONE;
    if (err.code == ERROR_NOT_FOUND && delivery->claim.farewell == NULL)
        return forget(delivery);
    /* Content that cannot be sent at all counts as refused, so that it is not due again at once. */
    if (err.code == ERROR_INVALID || err.code == ERROR_INTERNAL)
        return fail(delivery, 0, &err);
    return leave(delivery, &err);
}

enum delivery_end delivery_begin(struct delivery *delivery, const struct delivery_means *means,
                                 struct webhook_claim *claim)
{
    *delivery = (struct delivery){.means = means, .claim = *claim};
    *claim = (struct webhook_claim){.webhook = NULL};
    return next(delivery);
}

/* A receiver without an endpoint for a conversation's state does not need it. */
static bool is_unwanted(enum delivery_part part, long status)
{
    return part != DELIVERY_PART_EVENTS &&
           (status == 404 || status == 405 || status == 410 || status == 501);
}

/* Only the status counts; the body and its length do not matter. */
static bool is_taken(const struct delivery *delivery)
{
    long status = http_status(delivery->call);

    return (status >= 200 && status < 300) || is_unwanted(delivery->part, status);
}

static int record(struct delivery *delivery, struct error *err)
{
    struct db *db = delivery->means->db;

    switch (delivery->part) {
    case DELIVERY_PART_INFO:
        return webhook_store_set_told(db, &delivery->claim, err);
    case DELIVERY_PART_EVENTS:
        return webhook_store_set_taken(db, &delivery->claim, delivery->last_seq, err);
    case DELIVERY_PART_DELETED:
        return webhook_store_end(db, &delivery->claim, err);
    }
    return 0;
}

static enum delivery_end take_answer(struct delivery *delivery)
{
    struct error err = ERROR_INIT;
    bool is_good = false;
    long status = 0;

    if (http_wait(delivery->call, &err) == 0)
        error_set(&err, ERROR_UNAVAILABLE, "the receiver rejected it");
    is_good = is_taken(delivery);
    status = http_status(delivery->call);
    http_call_free(TAKE_PTR(delivery->call));
    if (!is_good)
        return fail(delivery, status, &err);
    if (record(delivery, &err) < 0)
        return leave(delivery, &err);
    return delivery->part == DELIVERY_PART_DELETED ? DELIVERY_DONE : next(delivery);
}

enum delivery_end delivery_go_on(struct delivery *delivery)
{
    return http_is_over_within(delivery->call, 0) ? take_answer(delivery) : DELIVERY_GOES_ON;
}
