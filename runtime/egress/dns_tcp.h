/*
 * Receives DNS queries by TCP of sandboxes with a list of destinations; dns_answer.h answers them.
 *
 * One connection of a sandbox is served at a time, by few threads, so that connections delay
 * neither other sandboxes' queries by UDP nor each other for long: the kernel keeps a connection
 * until its first bytes are there, and one that sends no whole query in time is closed.
 *
 * Threading: dns_tcp_run() is the body of DNS_TCP_THREADS threads, until egress_stop().
 * Source:    RFC 7766
 */
#ifndef DEFT_RUNTIME_EGRESS_DNS_TCP_H
#define DEFT_RUNTIME_EGRESS_DNS_TCP_H

#include "base/attr.h"

struct dns_source;
struct service;

void dns_tcp_run(struct service *service) NONNULL;
/* Answers a connection's queries until it is closed, silent, or malformed; does not close it. */
void dns_tcp_serve(struct service *service, const struct dns_source *source, int fd) NONNULL;

#endif
