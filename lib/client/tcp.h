/*
 * Internal to lib/client: TCP connections to numeric addresses, without libcurl.
 */
#ifndef DEFT_CLIENT_TCP_H
#define DEFT_CLIENT_TCP_H

#include <netinet/in.h>

#include "base/attr.h"

/* A non-blocking socket with its connect under way; -1 with errno. The caller closes it. */
int tcp_open(const struct sockaddr_in *address) NONNULL MUST_CHECK;

#endif
