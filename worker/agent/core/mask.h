/*
 * Secrets of a conversation as they meet text: which of them a command names, and hiding their
 * values in what comes back.
 *
 * Ownership: secret_list_done() wipes and releases.
 * Threading: one thread at a time.
 */
#ifndef DEFT_WORKER_AGENT_CORE_MASK_H
#define DEFT_WORKER_AGENT_CORE_MASK_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/secret.h"

struct conversation;
struct event_list;
struct masker;
struct strbuf;
struct tool_call_check;

struct named_secret {
    char *name;
    struct secret value;
};

struct secret_list {
    struct named_secret *items;
    size_t n;
    size_t n_retired;      /* the first ones; they lost their names when all were read anew */
    struct masker *masker; /* of all values it ever had; NULL: none */
};

/* clang-format off */
#define SECRET_LIST_INIT {NULL, 0, 0, NULL}
/* clang-format on */

void secret_list_done(struct secret_list *list);
/*
 * Fills an empty list from {"NAME": "value" | {"kind": "StaticSecret", "value": …}}; sources that
 * have no value of their own are left out.
 */
void secret_list_read(struct secret_list *list, const json_t *secrets) __attribute__((nonnull(1)));

/* Before they are read anew: no value is exported any more, and all of them stay hidden. */
void secret_list_retire(struct secret_list *list) NONNULL;
/* Sets one. An old value is not exported any more, but hidden still. */
void secret_list_set(struct secret_list *list, const char *name, const char *value) NONNULL;
/* True when a command names the secret, in any case. */
bool secret_is_named(const char *name, const char *command) NONNULL MUST_CHECK;
/* {"NAME": value} of the secrets that the command names (any case), or NULL. A new reference. */
json_t *secret_list_env(const struct secret_list *list, const char *command) NONNULL MUST_CHECK;
/* Appends text with each known value, in any of its forms, replaced by <secret-hidden>
 * (model/masking/masker.h). */
void mask_append(const struct secret_list *list, const char *text, struct strbuf *out) NONNULL;
/* The same for all that this thread logs, until mask_log_end(); borrows the list. */
void mask_log_begin(const struct secret_list *list) NONNULL;
void mask_log_end(void);
/* As mask_append() for the free text of events that are about to be stored
 * (model/masking/event_text.h). */
void mask_events(const struct secret_list *list, struct event_list *events) NONNULL;

/*
 * The same for what is to be kept of a call: its arguments, action and summary. Returns the action
 * as it was where that differs, to be run, or NULL; a new reference.
 */
json_t *mask_call(const struct secret_list *list, const struct conversation *conversation,
                  struct tool_call_check *check) NONNULL MUST_CHECK;
/* Whether an action that was stored has lost a value to mask_call(). */
bool mask_was_applied(const json_t *action) MUST_CHECK;

#endif
