/*
 * A webhook receiver of conversations' events, as the operator configures it: its URL, headers,
 * batch sizes and retries.
 *
 * Ownership: webhook_done() releases everything.
 * Threading: belongs to one thread.
 * Source: WebhookSpec of the agent-server contract.
 */
#ifndef DEFT_MODEL_CONVERSATION_WEBHOOK_H
#define DEFT_MODEL_CONVERSATION_WEBHOOK_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/secret.h"

struct error;
struct strbuf;
struct uuid;

enum { WEBHOOK_HEADERS_MAX = 32 };

struct webhook_header {
    char *name;
    struct secret value; /* may be a credential */
};

struct webhook {
    char *id;       /* its key in the store, such as "0" */
    char *base_url; /* without a trailing slash */
    struct webhook_header *headers;
    size_t n_headers;
    int64_t n_buffered; /* events per call … */
    int64_t flush_ms;   /* … or fewer after this time */
    int64_t n_retries;  /* retry_ms apart; then with backoff */
    int64_t retry_ms;
    int64_t max_events;      /* of a conversation queued while the receiver fails … */
    int64_t max_queue_bytes; /* … and their size: beyond it the oldest are dropped */
    int64_t max_batch_bytes; /* per call, unless a single event is larger */
};

/* clang-format off */
#define WEBHOOK_INIT {.id = NULL}
/* clang-format on */

void webhook_done(struct webhook *webhook);

/*
 * Reads a WebhookSpec; unknown members are ignored. ERROR_INVALID names the member. The URL is http
 * or https, without a query or a fragment, since a path is appended to it.
 */
int webhook_read(const json_t *spec, const char *id, struct webhook *webhook_out,
                 struct error *err) NONNULL MUST_CHECK;
/* Appends the URL that ConversationInfo is sent to. */
void webhook_append_info_url(const struct webhook *webhook, struct strbuf *out) NONNULL;
/* Appends the URL that the conversation's events are sent to. */
void webhook_append_events_url(const struct webhook *webhook, const struct uuid *conversation_id,
                               struct strbuf *out) NONNULL;
/* Delay before the next retry, after n_failures failures in a row. */
int64_t webhook_retry_ms(const struct webhook *webhook, int64_t n_failures) NONNULL MUST_CHECK;

#endif
