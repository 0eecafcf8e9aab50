/*
 * A client's messages on their way to the log: checked, then stored one at a time.
 *
 * Ownership: they outlive their connection until the last one is stored.
 */
#ifndef DEFT_GATEWAY_WS_CLIENT_MESSAGES_H
#define DEFT_GATEWAY_WS_CLIENT_MESSAGES_H

#include <jansson.h>

#include "base/attr.h"

struct client_messages;
struct connection;
struct principal;
struct uuid;
struct ws_services;

/* services and connection: borrowed, the latter until client_messages_leave(). */
struct client_messages *client_messages_new(const struct ws_services *services,
                                            struct connection *connection,
                                            const struct principal *principal,
                                            const struct uuid *conversation_id) NONNULL MUST_CHECK;
/* Takes one message; a bad one gets an error reply, and too many close the connection. */
void client_messages_take(struct client_messages *messages, const json_t *message) NONNULL;
/* Detaches the connection; messages already taken are still stored. Accepts NULL. */
void client_messages_leave(struct client_messages *messages);

#endif
