/*
 * Untrusted addresses of git repositories and names of commits: decides which may be passed to git.
 *
 * Threading: no state.
 */
#ifndef DEFT_SANDBOX_GIT_GIT_ADDRESS_H
#define DEFT_SANDBOX_GIT_GIT_ADDRESS_H

#include <stdbool.h>

#include "base/attr.h"

struct error;
struct strbuf;

/* Allowed protocols, without helpers that run programs. For GIT_ALLOW_PROTOCOL. */
extern const char git_address_protocols[];

/* True for https, http, ssh and git addresses, and for "user@host:path". */
bool git_address_is_remote(const char *address) NONNULL MUST_CHECK;
/* True for a name of one commit: for git not an option, a pattern, a range or a refspec. */
bool git_address_is_ref(const char *ref) NONNULL MUST_CHECK;
/*
 * Appends "https://host" or "http://host:1234", in lower case and without the default port: the
 * origin that a credential is sent to. False for other protocols, and for an address that contains
 * a name or a password.
 */
bool git_address_origin(const char *address, struct strbuf *out) NONNULL MUST_CHECK;
/*
 * Appends the folder name for a copy of the repository: the last part of the address without
 * ".git". ERROR_INVALID when that cannot be a folder name.
 */
int git_address_name(const char *address, struct strbuf *out, struct error *err) NONNULL MUST_CHECK;
/* True for the name of one folder: no path, not hidden, nothing that looks like an option. */
bool git_address_is_name(const char *name) NONNULL MUST_CHECK;

#endif
