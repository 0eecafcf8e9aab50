/*
 * Reads the upgrade request: path, query, credentials, origin.
 *
 * Source: RFC 6455, section 4.2; the wire contract's handshake table.
 */
#ifndef DEFT_GATEWAY_HANDSHAKE_H
#define DEFT_GATEWAY_HANDSHAKE_H

#include <stdbool.h>

#include "base/attr.h"
#include "gateway/subscriber.h"
#include "store/conversation/live_store.h"

struct error;
struct gateway;

/* A parsed upgrade request. */
struct handshake {
    struct socket_request request;
    bool has_credential;           /* otherwise the first frame must bring it */
    struct caller_question caller; /* the credential's owner: a query ready to send */
};

/*
 * Reads the head of an HTTP request, from its first line to the empty one. On any error the request
 * is refused with 403 before the upgrade.
 */
int handshake_read(const struct gateway *gateway, const char *head, struct handshake *handshake_out,
                   struct error *err) NONNULL MUST_CHECK;

#endif
