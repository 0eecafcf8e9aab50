/*
 * The users of a sandbox. Its commands are one and its server is another, so that no command can
 * signal or trace the server. Both belong to the sandbox's home, whose files are theirs.
 *
 * Threading: no state.
 */
#ifndef DEFT_RUNTIME_SANDBOX_USERS_H
#define DEFT_RUNTIME_SANDBOX_USERS_H

#include "base/attr.h"

struct sandbox_users {
    unsigned command;
    unsigned server;
    unsigned group; /* of both */
};

/* home: a home's name. */
struct sandbox_users sandbox_users_of_home(const char *home) NONNULL MUST_CHECK;

#endif
