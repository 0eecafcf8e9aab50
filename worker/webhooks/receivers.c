#include "worker/webhooks/receivers.h"

#include <string.h>

#include <jansson.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "store/user/init_store.h"

#define FIELD(name) offsetof(struct receiver_settings, name)

/* Numeric settings, and the members of a WebhookSpec that they correspond to. */
static const struct {
    const char *member;
    size_t offset;
} numbers[] = {
    {"event_buffer_size", FIELD(event_buffer_size)},
    {"flush_delay", FIELD(flush_delay)},
    {"num_retries", FIELD(num_retries)},
    {"retry_delay", FIELD(retry_delay)},
    {"max_queue_size", FIELD(max_queue_size)},
    {"max_batch_bytes", FIELD(max_batch_bytes)},
    {"max_queue_bytes", FIELD(max_queue_bytes)},
};

static int put_json(json_t *spec, const char *member, const char *text, struct error *err)
{
    json_t *value = NULL;

    if (text[0] == '\0')
        return 0;
    /* The value may contain a key: do not repeat it. */
    if (json_parse(text, strlen(text), &value, err) < 0)
        return error_set(err, ERROR_INVALID, "%s is not JSON", member);
    json_put(spec, member, value);
    return 0;
}

static int read_one(const struct receiver_settings *settings, const char *id,
                    struct webhook *webhook_out, struct error *err)
{
    json_auto_t *spec = json_object();

    json_put_text(spec, "base_url", settings->base_url);
    if (put_json(spec, "headers", secret_reveal(&settings->headers), err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        const char *text = NULL;

        memcpy(&text, (const char *)settings + numbers[i].offset, sizeof(text));
        if (put_json(spec, numbers[i].member, text, err) < 0)
            return -1;
    }
    return webhook_read(spec, id, webhook_out, err);
}

int receivers_read(const struct receiver_settings settings[RECEIVERS_MAX],
                   struct receivers *receivers_out, struct error *err)
{
    CLEANUP(receivers_done) struct receivers read = {.n = 0};

    for (size_t i = 0; i < RECEIVERS_MAX; i++) {
        char id[2] = {(char)('0' + i), '\0'};

        if (settings[i].base_url[0] == '\0')
            continue;
        if (read_one(&settings[i], id, &read.items[read.n], err) < 0)
            return error_wrap(err, "OH_WEBHOOKS_%s_…", id);
        read.n++;
    }
    *receivers_out = read;
    read.n = 0;
    return 0;
}

static int read_list(const json_t *list, struct receivers *receivers, struct error *err)
{
    json_t *spec = NULL;
    size_t i = 0;

    json_array_foreach (list, i, spec) {
        char id[] = "init-0";

        if (receivers->n == RECEIVERS_MAX)
            return 0;
        id[sizeof(id) - 2] = (char)('0' + i);
        if (webhook_read(spec, id, &receivers->items[receivers->n], err) < 0)
            return -1;
        receivers->n++;
    }
    return 0;
}

int receivers_open(const struct keyring *keyring, const char *sealed,
                   struct receivers *receivers_out, struct secret *session_key_out,
                   struct error *err)
{
    CLEANUP(receivers_done) struct receivers read = {.n = 0};
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    json_auto_t *settings = NULL;
    const char *key = NULL;

    if (keyring_open(keyring, INIT_SEAL_CONTEXT, sealed, &plain, err) < 0 ||
        json_parse_own(secret_reveal(&plain), plain.len, &settings, err) < 0 ||
        read_list(json_object_get(settings, "webhooks"), &read, err) < 0)
        return error_wrap(err, "the settings of the deferred start");
    key = json_text_or(settings, "session_key", NULL);
    if (key != NULL)
        secret_set(session_key_out, key);
    *receivers_out = read;
    read.n = 0;
    return 0;
}

void receivers_done(struct receivers *receivers)
{
    for (size_t i = 0; i < receivers->n; i++)
        webhook_done(&receivers->items[i]);
    receivers->n = 0;
}
