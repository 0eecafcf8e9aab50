/*
 * Attaches an open socket to its log: authenticates the caller, checks access to the conversation
 * and finds the first event to send.
 *
 * Ownership: a subscriber owns its attach, which frees itself when it is done.
 */
#ifndef DEFT_GATEWAY_WS_ATTACH_H
#define DEFT_GATEWAY_WS_ATTACH_H

#include "base/attr.h"

struct attach;
struct caller_query;
struct subscriber;

/*
 * Looks up the owner of the credential that nginx had checked, and gives the subscriber its reader.
 * Closes with 4001 if it was revoked since then.
 */
void attach_credential(struct subscriber *subscriber,
                       const struct caller_query *credential) NONNULL;
/* As above, by the key in the client's first frame; a wrong one is counted. */
void attach_key(struct subscriber *subscriber, const char *key) NONNULL;
void attach_free(struct attach *attach);

#endif
