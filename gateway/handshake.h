/*
 * What a client says before the upgrade: path, query, credentials, origin.
 *
 * Source: RFC 6455, section 4.2; the wire contract's handshake table.
 */
#ifndef DEFT_GATEWAY_HANDSHAKE_H
#define DEFT_GATEWAY_HANDSHAKE_H

#include "base/attr.h"

struct error;
struct lws;
struct subscriber;

/*
 * Reads the request into subscriber->request and, when it brought a credential, finds out who it is
 * (subscriber->principal; else it stays PRINCIPAL_NOBODY and the first frame must say).
 * Any error means: refuse with 403 before the upgrade (503 for ERROR_UNAVAILABLE).
 */
int handshake_read(struct lws *wsi, struct subscriber *subscriber,
                   struct error *err) NONNULL MUST_CHECK;

#endif
