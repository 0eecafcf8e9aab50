#include "model/conversation/webhook.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/uuid.h"

/* Bounds of the backoff: the longest interval, and the least first one. */
enum { RETRY_MAX_MS = 300000, RETRY_MIN_MS = 1000 };
/* Upper bound of all numbers below, such as the bytes of a queue. */
#define NUMBER_MAX ((double)(1LL << 40))
#define URL_MAX_BYTES ((size_t)2048)

/* Numbers of a WebhookSpec; `scale` converts seconds to milliseconds. */
static const struct number {
    const char *name;
    double minimum;
    double fallback;
    int64_t scale;
    size_t offset;
} numbers[] = {
    {"event_buffer_size", 1, 5, 1, offsetof(struct webhook, n_buffered)},
    {"flush_delay", 0.001, 30, 1000, offsetof(struct webhook, flush_ms)},
    {"num_retries", 0, 3, 1, offsetof(struct webhook, n_retries)},
    {"retry_delay", 0, 5, 1000, offsetof(struct webhook, retry_ms)},
    {"max_queue_size", 1, 1000, 1, offsetof(struct webhook, max_events)},
    {"max_batch_bytes", 1, 5242880, 1, offsetof(struct webhook, max_batch_bytes)},
    {"max_queue_bytes", 1, 52428800, 1, offsetof(struct webhook, max_queue_bytes)},
};

void webhook_done(struct webhook *webhook)
{
    if (webhook == NULL)
        return;
    for (size_t i = 0; i < webhook->n_headers; i++) {
        mem_free(webhook->headers[i].name);
        secret_done(&webhook->headers[i].value);
    }
    mem_free(webhook->headers);
    mem_free(webhook->id);
    mem_free(webhook->base_url);
    *webhook = (struct webhook)WEBHOOK_INIT;
}

static int read_number(const json_t *spec, const struct number *number, struct webhook *webhook,
                       struct error *err)
{
    const json_t *value = json_object_get(spec, number->name);
    double amount = number->fallback;
    int64_t scaled = 0;

    if (value != NULL && !json_is_null(value)) {
        if (!json_is_number(value))
            return error_set(err, ERROR_INVALID, "%s must be a number", number->name);
        amount = json_number_value(value);
    }
    if (amount < number->minimum || amount > NUMBER_MAX)
        return error_set(err, ERROR_INVALID, "%s must be at least %g", number->name,
                         number->minimum);
    scaled = (int64_t)(amount * (double)number->scale);
    memcpy((char *)webhook + number->offset, &scaled, sizeof(scaled));
    return 0;
}

static int read_url(const json_t *spec, struct webhook *webhook, struct error *err)
{
    const char *url = json_string_value(json_object_get(spec, "base_url"));
    size_t len = url != NULL ? strlen(url) : 0;

    if (len == 0 || len > URL_MAX_BYTES ||
        (!text_starts_with(url, "http://") && !text_starts_with(url, "https://")))
        return error_set(err, ERROR_INVALID, "base_url must be an http or https URL");
    if (strpbrk(url, "?# \t\r\n") != NULL)
        return error_set(err, ERROR_INVALID, "base_url must have no query, fragment or space");
    while (len > 0 && url[len - 1] == '/')
        len--;
    webhook->base_url = mem_dup_bytes(url, len);
    return 0;
}

/* RFC 9110, 5.6.2 and 5.5: a name is a token, a value has no control characters. */
static bool header_is_sound(const char *name, const char *value)
{
    static const char token[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

    if (name[0] == '\0' || name[strspn(name, token)] != '\0')
        return false;
    for (const char *at = value; *at != '\0'; at++) {
        if (((unsigned char)*at < 0x20 && *at != '\t') || *at == 0x7f)
            return false;
    }
    return true;
}

static int read_headers(const json_t *spec, struct webhook *webhook, struct error *err)
{
    json_t *headers = json_object_get(spec, "headers");
    const char *name = NULL;
    json_t *value = NULL;

    if (headers == NULL || json_is_null(headers))
        return 0;
    if (!json_is_object(headers) || json_object_size(headers) > WEBHOOK_HEADERS_MAX)
        return error_set(err, ERROR_INVALID, "headers must be an object of at most %d strings",
                         WEBHOOK_HEADERS_MAX);
    webhook->headers = mem_alloc_array(json_object_size(headers), sizeof(*webhook->headers));
    json_object_foreach (headers, name, value) {
        struct webhook_header *header = &webhook->headers[webhook->n_headers];

        if (!json_is_string(value) || !header_is_sound(name, json_string_value(value)))
            return error_set(err, ERROR_INVALID, "headers: one has an invalid name or value");
        header->name = mem_dup_text(name);
        secret_set(&header->value, json_string_value(value));
        webhook->n_headers++;
    }
    return 0;
}

int webhook_read(const json_t *spec, const char *id, struct webhook *webhook_out, struct error *err)
{
    CLEANUP(webhook_done) struct webhook read = WEBHOOK_INIT;

    if (json_typeof(spec) != JSON_OBJECT)
        return error_set(err, ERROR_INVALID, "a webhook must be an object");
    read.id = mem_dup_text(id);
    if (read_url(spec, &read, err) < 0 || read_headers(spec, &read, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        if (read_number(spec, &numbers[i], &read, err) < 0)
            return -1;
    }
    *webhook_out = read;
    read = (struct webhook)WEBHOOK_INIT;
    return 0;
}

void webhook_append_info_url(const struct webhook *webhook, struct strbuf *out)
{
    strbuf_appendf(out, "%s/conversations", webhook->base_url);
}

void webhook_append_events_url(const struct webhook *webhook, const struct uuid *conversation_id,
                               struct strbuf *out)
{
    char hex[UUID_HEX_BYTES];

    uuid_to_hex(conversation_id, hex);
    strbuf_appendf(out, "%s/events/%s", webhook->base_url, hex);
}

int64_t webhook_retry_ms(const struct webhook *webhook, int64_t n_failures)
{
    int64_t wait_ms = webhook->flush_ms > RETRY_MIN_MS ? webhook->flush_ms : RETRY_MIN_MS;

    if (n_failures <= webhook->n_retries)
        return webhook->retry_ms;
    for (int64_t i = webhook->n_retries + 1; i < n_failures && wait_ms < RETRY_MAX_MS; i++)
        wait_ms *= 2;
    return wait_ms < RETRY_MAX_MS ? wait_ms : RETRY_MAX_MS;
}
