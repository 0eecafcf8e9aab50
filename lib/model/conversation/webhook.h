/*
 * A receiver of news about conversations, as an operator describes it: where it is, what it is sent
 * with, how much at a time, and how often it is tried.
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
    struct secret value; /* may be a key */
};

struct webhook {
    char *id;       /* its name in the store, such as "0" */
    char *base_url; /* without a slash at the end */
    struct webhook_header *headers;
    size_t n_headers;
    int64_t n_buffered; /* so many events are sent at once … */
    int64_t flush_ms;   /* … and fewer after this long */
    int64_t n_retries;  /* so often, retry_ms apart; after that at growing distances */
    int64_t retry_ms;
    int64_t max_events;      /* of a conversation that wait while the receiver fails … */
    int64_t max_queue_bytes; /* … and their size: beyond it the oldest are given up */
    int64_t max_batch_bytes; /* of one call, unless a single event is larger */
};

/* clang-format off */
#define WEBHOOK_INIT {.id = NULL}
/* clang-format on */

void webhook_done(struct webhook *webhook);

/*
 * Reads a WebhookSpec; unknown members pass. ERROR_INVALID names the member. The URL is http or
 * https, without a query or a fragment, since a path is put behind it.
 */
int webhook_read(const json_t *spec, const char *id, struct webhook *webhook_out,
                 struct error *err) NONNULL MUST_CHECK;
/* Appends where ConversationInfo goes. */
void webhook_append_info_url(const struct webhook *webhook, struct strbuf *out) NONNULL;
/* Appends where that conversation's events go. */
void webhook_append_events_url(const struct webhook *webhook, const struct uuid *conversation_id,
                               struct strbuf *out) NONNULL;
/* How long to wait before a call is tried again that has failed n_failures times in a row. */
int64_t webhook_retry_ms(const struct webhook *webhook, int64_t n_failures) NONNULL MUST_CHECK;

#endif
