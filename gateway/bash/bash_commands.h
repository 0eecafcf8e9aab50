/*
 * Commands that clients sent on their sockets, queued until the sandbox accepts them: one at a
 * time, to keep each client's order.
 *
 * Ownership: the queue owns its commands; when a socket closes it is detached from its commands,
 * which are still carried out.
 */
#ifndef DEFT_GATEWAY_BASH_BASH_COMMANDS_H
#define DEFT_GATEWAY_BASH_BASH_COMMANDS_H

#include <stddef.h>
#include <sys/queue.h>

#include <jansson.h>

#include "base/attr.h"

struct connection;
struct error;

struct bash_command {
    STAILQ_ENTRY(bash_command) link;
    struct connection *from; /* notified of a failure; NULL when it is closed */
    char *body;              /* of the sandbox's start_bash_command */
};

struct bash_commands {
    STAILQ_HEAD(bash_command_queue, bash_command) queue;
    size_t n;
};

void bash_commands_init(struct bash_commands *commands) NONNULL;
void bash_commands_done(struct bash_commands *commands) NONNULL;
/* Reads {"command", "cwd"?, "timeout"?} into a command without a sender. ERROR_INVALID. */
int bash_command_read(const json_t *frame, struct bash_command **command_out,
                      struct error *err) NONNULL MUST_CHECK;
/* Takes ownership of the command. */
void bash_commands_add(struct bash_commands *commands, struct bash_command *command) NONNULL;
/* The oldest, or NULL. */
struct bash_command *bash_commands_first(const struct bash_commands *commands) NONNULL MUST_CHECK;
/* Removes the first command; there must be one. */
void bash_commands_drop_first(struct bash_commands *commands) NONNULL;
/* Detaches a connection that is closing from its commands. */
void bash_commands_forget(struct bash_commands *commands,
                          const struct connection *connection) NONNULL;

#endif
