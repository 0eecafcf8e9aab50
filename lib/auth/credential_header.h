/*
 * A caller's credential as nginx passes it from deft-fcgi, which checked it, to deft-gateway: its
 * kind and its keyed hash. The gateway looks up the hash itself, so the header grants nothing that
 * the database does not.
 *
 * Decision: docs/decisions/0062-socket-access.md
 */
#ifndef DEFT_AUTH_CREDENTIAL_HEADER_H
#define DEFT_AUTH_CREDENTIAL_HEADER_H

#include <stdbool.h>

#include "base/attr.h"

struct caller_query;
struct strbuf;

/* Only nginx can set it: the gateway gets no header of a client's by this name. */
#define CREDENTIAL_HEADER "X-Deft-Credential"
/* "sandbox " and a hash, with room. */
enum { CREDENTIAL_HEADER_BYTES = 128 };

/* Appends kind and hash of the query. */
void credential_header_append(const struct caller_query *query, struct strbuf *out) NONNULL;
/* Reads them; false for any other text. */
bool credential_header_read(const char *text, struct caller_query *query_out) NONNULL MUST_CHECK;

#endif
