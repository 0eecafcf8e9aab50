/*
 * The destination of a reply, FastCGI or a test.
 *
 * Ownership: an output is borrowed for the request.
 * Threading: an output belongs to one thread.
 */
#ifndef DEFT_WEB_REPLY_OUTPUT_H
#define DEFT_WEB_REPLY_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct transfer_rate;

struct reply_output {
    /* Writes all of len bytes; -1 when the other side is gone. */
    int (*write)(void *stream, const char *bytes, int len);
    void *stream;
    /* Sends what write() holds back; -1 when the other side is gone. NULL: nothing is held back. */
    int (*flush)(void *stream);
    int fd; /* the connection, which the other side closes when the client leaves; 0: none */
};

/* Writes all; false when the client is gone, or reads below the minimum rate. */
bool reply_output_write(const struct reply_output *output, struct transfer_rate *rate,
                        const char *bytes, size_t len) NONNULL MUST_CHECK;

#endif
