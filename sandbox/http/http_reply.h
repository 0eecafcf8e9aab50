/*
 * Writes the reply of an answered request: head, then body pieces from memory or a file, as the
 * socket accepts them.
 * Threading: one thread.
 */
#ifndef DEFT_SANDBOX_HTTP_HTTP_REPLY_H
#define DEFT_SANDBOX_HTTP_HTTP_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct server_request;
struct strbuf;

enum http_reply_state {
    HTTP_REPLY_WAITS, /* for the socket to accept more */
    HTTP_REPLY_SENT,
    HTTP_REPLY_FAILED, /* the connection must be closed */
};

/*
 * Writes what the socket accepts at once, *n_sent_out bytes. output: what it did not accept,
 * between two calls.
 */
enum http_reply_state http_reply_write(struct server_request *request, struct strbuf *output,
                                       size_t *n_sent_out) NONNULL MUST_CHECK;
/* Writes what the socket accepts of a text before the reply; false when the connection is broken.
 */
bool http_reply_write_interim(int socket, struct strbuf *output) NONNULL MUST_CHECK;

#endif
