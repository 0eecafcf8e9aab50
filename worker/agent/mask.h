/*
 * Secrets of a conversation as they meet text: which of them a command names, and hiding their
 * values in what comes back.
 *
 * Ownership: secret_list_done() wipes and releases.
 * Threading: one thread at a time.
 */
#ifndef DEFT_WORKER_AGENT_MASK_H
#define DEFT_WORKER_AGENT_MASK_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/secret.h"

struct event_list;
struct strbuf;

struct named_secret {
    char *name;
    struct secret value;
};

struct secret_list {
    struct named_secret *items;
    size_t n;
};

/* clang-format off */
#define SECRET_LIST_INIT {NULL, 0}
/* clang-format on */

void secret_list_done(struct secret_list *list);
/*
 * Fills an empty list from {"NAME": "value" | {"kind": "StaticSecret", "value": …}}; sources that
 * have no value of their own are left out.
 */
void secret_list_read(struct secret_list *list, const json_t *secrets) __attribute__((nonnull(1)));

/* Sets one. An old value is not exported any more, but hidden still. */
void secret_list_set(struct secret_list *list, const char *name, const char *value) NONNULL;
/* True when a command names the secret, in any case. */
bool secret_is_named(const char *name, const char *command) NONNULL MUST_CHECK;
/* {"NAME": value} of the secrets that the command names (any case), or NULL. A new reference. */
json_t *secret_list_env(const struct secret_list *list, const char *command) NONNULL MUST_CHECK;
/* Appends text with each known value replaced by <secret-hidden>. */
void mask_append(const struct secret_list *list, const char *text, struct strbuf *out) NONNULL;
/*
 * How much of a text that is still growing can be masked already: up to where a value may begin
 * that is not all there.
 */
size_t mask_settled_length(const struct secret_list *list, const char *text) NONNULL MUST_CHECK;
/* As mask_append() for the free text of events that are about to be stored (model/event_text.h). */
void mask_events(const struct secret_list *list, struct event_list *events) NONNULL;

#endif
