/*
 * The two users of a sandbox: one that its commands are, and one that the server is, so that no
 * command can signal, trace or limit the server, nor read what it keeps.
 *
 * The server's real and saved user are its own; these decide who may signal and trace it. Its
 * effective user is that of the commands: files that it makes belong to them, it has no more access
 * than they have, and it may signal them. No capability is needed for that once it runs. A program
 * that it starts becomes the commands' user altogether.
 *
 * Where the server was not started as root there is one user, and all of this changes nothing.
 *
 * Threading: one thread; the kernel keeps the state.
 * Source:    credentials(7); kill(2), "Permissions"; ptrace(2), "Ptrace access mode
 * checking"
 */
#ifndef DEFT_SANDBOX_CORE_IDENTITY_H
#define DEFT_SANDBOX_CORE_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"

struct config;
struct error;

/*
 * At the start, before anything else runs here: takes both users from the settings, gives the
 * journal to the server and the image's account to the commands, and drops every capability for
 * good. ERROR_UNAVAILABLE where the host has no such users.
 */
int identity_take(const struct config *config, struct error *err) NONNULL MUST_CHECK;
/* In a child, before it executes a program: it is the commands' user from now on. -1 with errno. */
int identity_become_commands(void) MUST_CHECK;
/* As access(2), for the user that files are opened as: the kernel asks there for the real one. */
bool identity_has_access(const char *path, int mode) NONNULL MUST_CHECK;
/*
 * For files that commands must not reach: until identity_open_as_commands(), files are opened and
 * made as the server's own user. The commands' is the saved one meanwhile, so they may signal the
 * server, which as PID 1 takes no signal of theirs. Not setfsuid(), which gVisor has not.
 */
void identity_open_as_server(void);
void identity_open_as_commands(void);

#endif
