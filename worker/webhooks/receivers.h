/*
 * The receivers of webhooks: from a worker's settings (OH_WEBHOOKS_<n>_…) and from a deferred
 * start.
 */
#ifndef DEFT_WORKER_WEBHOOKS_RECEIVERS_H
#define DEFT_WORKER_WEBHOOKS_RECEIVERS_H

#include <stddef.h>

#include "base/attr.h"
#include "base/secret.h"
#include "model/conversation/webhook.h"

struct error;
struct keyring;

enum { RECEIVERS_MAX = 4 };

/* One receiver's settings, unparsed. */
struct receiver_settings {
    const char *base_url;  /* "": none */
    struct secret headers; /* a JSON object of strings, or unset */
    const char *event_buffer_size;
    const char *flush_delay;
    const char *num_retries;
    const char *retry_delay;
    const char *max_queue_size;
    const char *max_batch_bytes;
    const char *max_queue_bytes;
};

struct receivers {
    struct webhook items[RECEIVERS_MAX];
    size_t n;
};

/* ERROR_INVALID names the setting. */
int receivers_read(const struct receiver_settings settings[RECEIVERS_MAX],
                   struct receivers *receivers_out, struct error *err) NONNULL MUST_CHECK;
/*
 * The receivers in the content of a deferred start (init_store.h), and its first session key, if
 * any. ERROR_INTERNAL if it cannot be read, as deft wrote it.
 */
int receivers_open(const struct keyring *keyring, const char *sealed,
                   struct receivers *receivers_out, struct secret *session_key_out,
                   struct error *err) NONNULL MUST_CHECK;
void receivers_done(struct receivers *receivers);

#endif
