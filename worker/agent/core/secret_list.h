/*
 * A conversation's secrets: which of them a command names, and masking of their values in text.
 *
 * Ownership: secret_list_done() wipes and releases.
 * Threading: one thread at a time.
 */
#ifndef DEFT_WORKER_AGENT_CORE_SECRET_LIST_H
#define DEFT_WORKER_AGENT_CORE_SECRET_LIST_H

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
    size_t n_retired;      /* the first ones, whose names were cleared for a reload */
    struct masker *masker; /* for every value the list ever held; NULL: none */
};

/* clang-format off */
#define SECRET_LIST_INIT {NULL, 0, 0, NULL}
/* clang-format on */

void secret_list_done(struct secret_list *list);
/*
 * Fills an empty list from {"NAME": "value" | {"kind": "StaticSecret", "value": …}}; skips sources
 * without a value of their own.
 */
void secret_list_read(struct secret_list *list, const json_t *secrets) __attribute__((nonnull(1)));

/* Before a reload: exports no values any more, but keeps masking all of them. */
void secret_list_retire(struct secret_list *list) NONNULL;
/* Sets one secret. Its old value is no longer exported, but still masked. */
void secret_list_set(struct secret_list *list, const char *name, const char *value) NONNULL;
/* Masks a value from now on that no command can name. */
void secret_list_hide(struct secret_list *list, const char *value) NONNULL;
/* True if a command names the secret, in any case. */
bool secret_is_named(const char *name, const char *command) NONNULL MUST_CHECK;
/* {"NAME": value} of the secrets that the command names (any case), or NULL. A new reference. */
json_t *secret_list_env(const struct secret_list *list, const char *command) NONNULL MUST_CHECK;
/*
 * Appends text with each known value, in any of its forms, replaced by <secret-hidden>
 * (model/masking/masker.h).
 */
void secret_list_mask_text(const struct secret_list *list, const char *text,
                           struct strbuf *out) NONNULL;
/* A copy of a value with all its texts masked so; a new reference. */
json_t *secret_list_mask_json(const struct secret_list *list, const json_t *value)
    __attribute__((nonnull(1))) MUST_CHECK;
/* Masks everything that this thread logs, until secret_list_unmask_log(); borrows the list. */
void secret_list_mask_log(const struct secret_list *list) NONNULL;
void secret_list_unmask_log(void);
/* As secret_list_mask_text() for the free text of events about to be stored
 * (model/masking/event_text.h). */
void secret_list_mask_events(const struct secret_list *list, struct event_list *events) NONNULL;

/*
 * As secret_list_mask_text() for the stored form of a call: its arguments, action and summary. If
 * the action changes, returns the original, to be run; else NULL. A new reference.
 */
json_t *secret_list_mask_call(const struct secret_list *list,
                              const struct conversation *conversation,
                              struct tool_call_check *check) NONNULL MUST_CHECK;
/* Whether secret_list_mask_call() masked a value in a stored action. */
bool secret_list_is_masked(const json_t *action) MUST_CHECK;

#endif
