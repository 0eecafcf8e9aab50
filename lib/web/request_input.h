/*
 * The source of a request, FastCGI or a test: its parameters, and its body as a stream.
 *
 * Ownership: an input is borrowed for the request.
 * Threading: an input belongs to one thread.
 */
#ifndef DEFT_WEB_REQUEST_INPUT_H
#define DEFT_WEB_REQUEST_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct strbuf;
struct transfer_rate;

/* Why reading a body failed. */
enum { REQUEST_READ_BROKEN = -1, REQUEST_READ_SILENT = -2 };

struct request_input {
    char *const *params; /* NAME=value; ends with NULL */
    /* Reads up to len bytes of the body; 0 at its end, REQUEST_READ_… below 0. */
    int (*read)(void *stream, char *buffer, int len);
    void *stream;
};

/* A parameter such as REQUEST_URI, HTTP_ORIGIN; NULL when absent or empty. */
const char *request_input_param(const struct request_input *input, const char *name) NONNULL;
/* How often a parameter of that name was sent. */
size_t request_input_count(const struct request_input *input, const char *name) NONNULL MUST_CHECK;
/* CONTENT_LENGTH; -1 when it was not given. ERROR_INVALID when it is not a number. */
int request_input_content_length(const struct request_input *input, int64_t *length_out,
                                 struct error *err) NONNULL MUST_CHECK;

/*
 * Reads up to size bytes of the body; returns their number, 0 at its end. ERROR_INVALID when it is
 * cut off, ERROR_SLOW_CLIENT when it arrives below the minimum rate.
 */
int request_input_read(const struct request_input *input, struct transfer_rate *rate, char *buffer,
                       size_t size, struct error *err) NONNULL MUST_CHECK;
/*
 * Appends the whole body. ERROR_TOO_LARGE above max_bytes; ERROR_INVALID when it is cut off, or
 * shorter than its content length (-1: not given).
 */
int request_input_read_body(const struct request_input *input, int64_t content_length,
                            size_t max_bytes, struct strbuf *body,
                            struct error *err) NONNULL MUST_CHECK;

#endif
