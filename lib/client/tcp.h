/*
 * Inside of lib/client: connections to plain addresses, made without libcurl.
 */
#ifndef DEFT_CLIENT_TCP_H
#define DEFT_CLIENT_TCP_H

#include <netinet/in.h>

#include "base/attr.h"

/* A socket that does not block and is being connected; -1 with errno. The caller closes it. */
int tcp_open(const struct sockaddr_in *address) NONNULL MUST_CHECK;

#endif
