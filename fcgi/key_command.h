/*
 * The command-line functions of deft-fcgi for ./deft key and ./deft link: creates, lists and
 * revokes credentials. Results go to standard output.
 *
 * Errors: ERROR_UNAVAILABLE when the database does not answer, or when nothing can be printed.
 */
#ifndef DEFT_FCGI_KEY_COMMAND_H
#define DEFT_FCGI_KEY_COMMAND_H

#include "base/attr.h"

struct error;
struct fcgi_context;

/* Prints a new API key of the owner. ERROR_INVALID for a blank name. */
int key_command_new(const struct fcgi_context *context, const char *name,
                    struct error *err) NONNULL MUST_CHECK;
/* Prints a new key of the Runtime API. ERROR_INVALID for a blank name. */
int key_command_new_runtime(const struct fcgi_context *context, const char *name,
                            struct error *err) NONNULL MUST_CHECK;
/* Prints the owner's keys, one per line, or a message that there are none. */
int key_command_list(const struct fcgi_context *context, struct error *err) NONNULL MUST_CHECK;
/*
 * Revokes the one valid key with that id, or with that name. ERROR_NOT_FOUND when there is none;
 * ERROR_CONFLICT when there are several, which are then listed on standard error.
 */
int key_command_revoke(const struct fcgi_context *context, const char *id_or_name,
                       struct error *err) NONNULL MUST_CHECK;
/* Prints a new sign-in link. */
int key_command_link(const struct fcgi_context *context, struct error *err) NONNULL MUST_CHECK;
/* Prints the key used to hash tokens, for a process that needs no other. */
int key_command_hash_key(const struct fcgi_context *context, struct error *err) NONNULL MUST_CHECK;

#endif
