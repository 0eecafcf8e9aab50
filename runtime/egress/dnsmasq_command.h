/*
 * The resolver for an instance's sandboxes: dnsmasq, configured by its command line. It listens at
 * the gateways of that instance's sandboxes and nowhere else.
 *
 * Ownership: dnsmasq_command_done() releases the arguments.
 * Threading: no state.
 * Decision: docs/decisions/0051-resolver.md
 */
#ifndef DEFT_RUNTIME_EGRESS_DNSMASQ_COMMAND_H
#define DEFT_RUNTIME_EGRESS_DNSMASQ_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct error;

/* Debian's path; no other program may be started. */
#define RESOLVER_PROGRAM "/usr/sbin/dnsmasq"
/* Port configured in both processes: the resolver listens there, the rules redirect to it. */
#define RESOLVER_PORT "1053"
/* Unprivileged ports whose successor, which deft-runtime uses, is valid too. */
#define RESOLVER_PORT_LEAST 1024
#define RESOLVER_PORT_MOST 65534

struct dnsmasq_settings {
    const char *instance;
    int64_t port;
    const char *upstreams;     /* "192.0.2.1 192.0.2.2#5353"; "": those of the host's resolv.conf */
    const char *private_names; /* may resolve to private addresses, with all names below them */
    const char *log_level;
};

/* dnsmasq's argv, terminated by NULL. */
struct dnsmasq_command {
    char **items;
    size_t n;
};

/* clang-format off */
#define DNSMASQ_COMMAND_INIT {NULL, 0}
/* clang-format on */

void dnsmasq_command_done(struct dnsmasq_command *command);
/* ERROR_INVALID names the setting. */
int dnsmasq_command_make(const struct dnsmasq_settings *settings,
                         struct dnsmasq_command *command_out, struct error *err) NONNULL MUST_CHECK;

#endif
