/*
 * Receives DNS queries by UDP of sandboxes with a list of destinations; dns_answer.h answers them.
 *
 * Threading: dns_server_run() is the body of DNS_SERVER_THREADS threads, until egress_stop().
 * Decision: docs/decisions/0027-egress.md
 */
#ifndef DEFT_RUNTIME_EGRESS_DNS_SERVER_H
#define DEFT_RUNTIME_EGRESS_DNS_SERVER_H

#include "base/attr.h"

struct service;

void dns_server_run(struct service *service) NONNULL;

#endif
