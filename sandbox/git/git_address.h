/*
 * Addresses of git repositories and names of their commits, as strangers give them: what may be
 * handed to git, and what is only meant to look so.
 *
 * Threading: no state.
 */
#ifndef DEFT_SANDBOX_GIT_GIT_ADDRESS_H
#define DEFT_SANDBOX_GIT_GIT_ADDRESS_H

#include <stdbool.h>

#include "base/attr.h"

struct error;
struct strbuf;

/* What git may speak; helpers that run programs are not among it. For GIT_ALLOW_PROTOCOL. */
extern const char git_address_protocols[];

/* True for https, http, ssh and git addresses, and for "user@host:path". */
bool git_address_is_remote(const char *address) NONNULL MUST_CHECK;
/* A name of one commit: nothing that git reads as an option, a pattern or a pair. */
bool git_address_is_ref(const char *ref) NONNULL MUST_CHECK;
/*
 * Appends "https://host" or "http://host:1234", in small letters and without the port that goes
 * without saying: where a credential is shown. False for other protocols, and for an address with a
 * name or a password in it.
 */
bool git_address_origin(const char *address, struct strbuf *out) NONNULL MUST_CHECK;
/*
 * Appends the name that a copy of the repository gets: the last part of the address without
 * ".git". ERROR_INVALID when that is no name of a folder.
 */
int git_address_name(const char *address, struct strbuf *out, struct error *err) NONNULL MUST_CHECK;
/* A name of one folder: no path, nothing hidden, nothing that looks like an option. */
bool git_address_is_name(const char *name) NONNULL MUST_CHECK;

#endif
