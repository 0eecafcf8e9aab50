/*
 * The head of a preview's request, as nginx/preview.conf.in has nginx send it.
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
    bool asks_upgrade;          /* to a WebSocket: nginx checked the rest of the handshake */
};

/* True when bytes hold a whole head; nginx ends each line with CR and LF. */
bool preview_request_is_whole(const struct strbuf *bytes) NONNULL MUST_CHECK;
/*
 * Reads a whole head, and takes out the line that names the address, which is none of the
 * program's. ERROR_INVALID when there is no address in it.
 */
int preview_request_take(struct strbuf *bytes, struct preview_request *request_out,
                         struct error *err) NONNULL MUST_CHECK;

#endif
