/*
 * The head of a preview's request, as written by nginx/preview.conf.in.
 */
#ifndef DEFT_GATEWAY_PREVIEW_REQUEST_HEAD_H
#define DEFT_GATEWAY_PREVIEW_REQUEST_HEAD_H

#include <netinet/in.h>
#include <stdbool.h>

#include "base/attr.h"

struct error;
struct strbuf;

struct preview_request {
    struct sockaddr_in address; /* where the program listens */
    bool asks_upgrade;          /* for a WebSocket: nginx checked the rest of the handshake */
};

/* True when bytes hold a whole head; nginx ends each line with CR LF. */
bool preview_request_is_whole(const struct strbuf *bytes) NONNULL MUST_CHECK;
/*
 * Reads a whole head and removes the line that names the address, which the program must not see.
 * ERROR_INVALID when it contains no address.
 */
int preview_request_take(struct strbuf *bytes, struct preview_request *request_out,
                         struct error *err) NONNULL MUST_CHECK;

#endif
