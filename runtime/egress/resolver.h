/*
 * The resolver of an instance's sandboxes: dnsmasq, told by its command line what it may answer and
 * where it listens, which is at the gateways of that instance's sandboxes and nowhere else.
 *
 * Ownership: resolver_command_done() releases the arguments.
 * Threading: no state.
 */
#ifndef DEFT_RUNTIME_EGRESS_RESOLVER_H
#define DEFT_RUNTIME_EGRESS_RESOLVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct error;

/* Where Debian's package has it; no other program may be started. */
#define RESOLVER_PROGRAM "/usr/sbin/dnsmasq"
/* The port that both processes are told: the resolver listens there, the rules lead there. */
#define RESOLVER_PORT "1053"
/* Ports that need no right; of the last one, the next is deft-runtime's. */
#define RESOLVER_PORT_LEAST 1024
#define RESOLVER_PORT_MOST 65534

struct resolver_settings {
    const char *instance;
    int64_t port;
    const char *upstreams;     /* "192.0.2.1 192.0.2.2#5353"; "": those of the host's resolv.conf */
    const char *private_names; /* names that may have private addresses, those below them too */
    const char *log_level;
};

/* argv of dnsmasq, with a NULL at its end. */
struct resolver_command {
    char **items;
    size_t n;
};

/* clang-format off */
#define RESOLVER_COMMAND_INIT {NULL, 0}
/* clang-format on */

void resolver_command_done(struct resolver_command *command);
/* ERROR_INVALID names the setting. */
int resolver_command_make(const struct resolver_settings *settings,
                          struct resolver_command *command_out,
                          struct error *err) NONNULL MUST_CHECK;

#endif
