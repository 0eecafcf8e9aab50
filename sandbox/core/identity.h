/*
 * The two users of a sandbox: one for its commands and one for the server, so that no command can
 * signal, trace or limit the server, or read its private files.
 *
 * The server's real and saved user are its own; these decide who may signal and trace it. Its
 * effective user is that of the commands: files that it creates belong to them, it has no more
 * access than they have, and it may signal them. No capability is needed for that once it runs. A
 * program that it starts takes the commands' user for all three ids.
 *
 * Where the server was not started as root there is only one user, and none of this has any effect.
 *
 * Threading: one thread; the kernel keeps the state.
 * Source:    credentials(7); kill(2), "Permissions"; ptrace(2), "Ptrace access mode checking"
 * Decision: docs/decisions/0039-sandbox-users.md
 */
#ifndef DEFT_SANDBOX_CORE_IDENTITY_H
#define DEFT_SANDBOX_CORE_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"

struct action_config;
struct error;

/*
 * To be called at start, before anything else runs: takes both users from the settings, gives the
 * journal to the server and the image's account to the commands, and drops every capability
 * permanently. ERROR_UNAVAILABLE where the host has no such users.
 */
int identity_take(const struct action_config *config, struct error *err) NONNULL MUST_CHECK;
/* In a child, before it executes a program: switches to the commands' user. -1 with errno. */
int identity_become_commands(void) MUST_CHECK;
/* As access(2), but for the effective user that opens files; access(2) checks the real one. */
bool identity_has_access(const char *path, int mode) NONNULL MUST_CHECK;
/*
 * For files that commands must not reach: until identity_open_as_commands(), files are opened and
 * created as the server's own user. The saved user is then that of the commands, so they may signal
 * the server; as PID 1 it ignores their signals. Not setfsuid(), which gVisor lacks.
 */
void identity_open_as_server(void);
void identity_open_as_commands(void);

#endif
