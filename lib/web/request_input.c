#include "web/request_input.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "web/transfer_rate.h"

enum { READ_CHUNK_BYTES = 16384 };

/* The value of NAME=value, or NULL when the entry has another name. */
static const char *param_value(const char *entry, const char *name)
{
    size_t len = strlen(name);

    return strncmp(entry, name, len) == 0 && entry[len] == '=' ? entry + len + 1 : NULL;
}

const char *request_input_param(const struct request_input *input, const char *name)
{
    for (char *const *entry = input->params; *entry != NULL; entry++) {
        const char *value = param_value(*entry, name);

        if (value != NULL && value[0] != '\0')
            return value;
    }
    return NULL;
}

size_t request_input_count(const struct request_input *input, const char *name)
{
    size_t n = 0;

    for (char *const *entry = input->params; *entry != NULL; entry++)
        n += param_value(*entry, name) != NULL;
    return n;
}

int request_input_content_length(const struct request_input *input, int64_t *length_out,
                                 struct error *err)
{
    const char *length = request_input_param(input, "CONTENT_LENGTH");

    *length_out = -1;
    if (length == NULL)
        return 0;
    return text_parse_int(length, 0, INT64_MAX, length_out, err);
}

int request_input_read(const struct request_input *input, struct transfer_rate *rate, char *buffer,
                       size_t size, struct error *err)
{
    int64_t begun_ms = clock_monotonic_ms();
    int n = input->read(input->stream, buffer, (int)size);

    if (n == REQUEST_READ_SILENT)
        return error_set(err, ERROR_SLOW_CLIENT, "The request body timed out");
    if (n < 0)
        return error_set(err, ERROR_INVALID, "The request body was cut off");
    if (transfer_rate_is_too_slow(rate, begun_ms, (size_t)n))
        return error_set(err, ERROR_SLOW_CLIENT,
                         "The request body arrives too slowly: less than %d bytes a second",
                         TRANSFER_MIN_BYTES_PER_S);
    return n;
}

int request_input_read_body(const struct request_input *input, int64_t content_length,
                            size_t max_bytes, struct strbuf *body, struct error *err)
{
    struct transfer_rate rate = {.grace_ms = TRANSFER_CLIENT_GRACE_MS};
    char chunk[READ_CHUNK_BYTES];
    int n = 0;

    if (content_length > 0 && (uint64_t)content_length > max_bytes)
        return error_set(err, ERROR_TOO_LARGE, "Request body too large");
    do {
        n = request_input_read(input, &rate, chunk, sizeof(chunk), err);
        if (n < 0)
            return -1;
        strbuf_append_bytes(body, chunk, (size_t)n);
        if (body->len > max_bytes)
            return error_set(err, ERROR_TOO_LARGE, "Request body too large");
    } while (n > 0);
    if (content_length > 0 && body->len != (uint64_t)content_length)
        return error_set(err, ERROR_INVALID, "The request body was cut off");
    return 0;
}
