/*
 * The users of a sandbox. Its commands run as one and its server as another, so that no command can
 * signal or trace the server. No other sandbox of the engine has the same users, since the kernel
 * limits inotify instances, pipe pages, epoll watches and processes per user.
 *
 * They belong to the sandbox's home, own its files and are part of its name: "<id>-<number>". So
 * they are free once its volumes are gone, even after a crash. Homes without a number are of an
 * older version and share one pair.
 *
 * Threading: struct users_in_use is guarded by its owner.
 * Decision: docs/decisions/0039-sandbox-users.md
 */
#ifndef DEFT_RUNTIME_BACKEND_SANDBOX_USERS_H
#define DEFT_RUNTIME_BACKEND_SANDBOX_USERS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "runtime/backend/mount_paths.h"

/*
 * Below 65536, the limit of an engine's user namespace mapping; five digits, as SANDBOX_UID has
 * (sandbox/core/account.c); 65534 is nobody.
 */
enum { USERS_FIRST = 20000, USERS_END = 65534, USERS_PAIRS = (USERS_END - USERS_FIRST) / 2 };

struct sandbox_users {
    unsigned command;
    unsigned server;
    unsigned group; /* of both users */
};

/* Pairs that belong to homes. */
struct users_in_use {
    unsigned char bits[(USERS_PAIRS + CHAR_BIT - 1) / CHAR_BIT];
};

/* home: a home's name. */
struct sandbox_users sandbox_users_of_home(const char *home) NONNULL MUST_CHECK;
/* Marks the pair of a home, or of a volume whose name ends with a home's; ignores others. */
void users_in_use_add(struct users_in_use *used, const char *name) NONNULL;
void users_in_use_remove(struct users_in_use *used, const char *name) NONNULL;
/*
 * Takes a pair that is in neither set: the first at or after `start`, which callers choose at
 * random, since two services on one engine may do this at the same time. False if all are in use.
 */
bool users_in_use_take(struct users_in_use *used, const struct users_in_use *others, uint32_t start,
                       unsigned *command_out) NONNULL MUST_CHECK;

#endif
