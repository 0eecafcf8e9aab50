/*
 * The users of a sandbox. Its commands are one and its server is another, so that no command can
 * signal or trace the server; and no other sandbox of the engine has either, since the kernel
 * counts inotify instances, pipe pages, epoll watches and processes by user.
 *
 * They belong to the sandbox's home, whose files are theirs, and stand in its name:
 * "<id>-<number>". So they are free when its volumes are gone, whoever forgot what. Homes without a
 * number are of before: they share one pair.
 *
 * Threading: struct users_in_use is guarded by its owner.
 */
#ifndef DEFT_RUNTIME_BACKEND_SANDBOX_USERS_H
#define DEFT_RUNTIME_BACKEND_SANDBOX_USERS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "runtime/backend/layout.h"

/*
 * Below 65536, which is as far as the map of an engine with user namespaces reaches; five digits,
 * as SANDBOX_UID has (sandbox/core/account.c); 65534 is nobody.
 */
enum { USERS_FIRST = 20000, USERS_END = 65534, USERS_PAIRS = (USERS_END - USERS_FIRST) / 2 };

struct sandbox_users {
    unsigned command;
    unsigned server;
    unsigned group; /* of both */
};

/* Pairs that homes have. */
struct users_in_use {
    unsigned char bits[(USERS_PAIRS + CHAR_BIT - 1) / CHAR_BIT];
};

/* home: a home's name. */
struct sandbox_users sandbox_users_of_home(const char *home) NONNULL MUST_CHECK;
/* Marks the pair of a home, or of a volume whose name ends with a home's; others are no matter. */
void users_in_use_add(struct users_in_use *used, const char *name) NONNULL;
void users_in_use_remove(struct users_in_use *used, const char *name) NONNULL;
/*
 * Takes a pair that neither has, the first at or after a number that the caller chose at random:
 * two services on one engine may look at the same moment. False when all are in use.
 */
bool users_in_use_take(struct users_in_use *used, const struct users_in_use *others, uint32_t start,
                       unsigned *command_out) NONNULL MUST_CHECK;

#endif
