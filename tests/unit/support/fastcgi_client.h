/*
 * Speaks FastCGI to a server's socket, as nginx does: one request per connection.
 *
 * Source: the FastCGI specification, version 1.0, section 3
 */
#ifndef DEFT_TESTS_UNIT_SUPPORT_FASTCGI_CLIENT_H
#define DEFT_TESTS_UNIT_SUPPORT_FASTCGI_CLIENT_H

#include <stddef.h>

#include "base/attr.h"

struct strbuf;

/*
 * Connects and sends a request's head; the descriptor is the caller's. params: "NAME=value", of
 * less than 128 bytes each; ends with NULL.
 */
int fastcgi_begin(const char *path, const char *const *params) NONNULL MUST_CHECK;
/* One piece of the body; a piece of no bytes ends it. */
void fastcgi_send_body(int fd, const char *bytes, size_t len) NONNULL;
/* Appends the server's records, with their heads, until it closes; closes fd. */
void fastcgi_read_answer(int fd, struct strbuf *answer) NONNULL;
/* As above, without the heads: what the server's program has written. */
void fastcgi_read_output(int fd, struct strbuf *output) NONNULL;

#endif
