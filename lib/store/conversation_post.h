/*
 * What clients do to a conversation beside reading it: plan the events with lib/model, write them,
 * and plan again when somebody else was faster.
 */
#ifndef DEFT_STORE_CONVERSATION_POST_H
#define DEFT_STORE_CONVERSATION_POST_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct conversation_change;
struct conversation_scope;
struct conversation_write;
struct db;
struct error;
struct uuid;

/*
 * Appends a user's message (content as content_read() gives it) and, with run, asks for a run; both
 * are committed when it returns. The caller sends HINT_EVENTS and, with run, HINT_WORK.
 * Errors: ERROR_NOT_FOUND, ERROR_TOO_LARGE, ERROR_UNAVAILABLE, ERROR_INVALID.
 */
int conversation_post_message(struct db *db, const struct conversation_scope *scope,
                              const struct uuid *id, json_t *content, bool run,
                              struct error *err) NONNULL MUST_CHECK;

/*
 * Asks for a run without a message. ERROR_CONFLICT when one is under way already. The caller sends
 * HINT_EVENTS and HINT_WORK.
 */
int conversation_post_run(struct db *db, const struct conversation_scope *scope,
                          const struct uuid *id, struct error *err) NONNULL MUST_CHECK;

/* What a planned change does to the row, as a write; borrows the change's texts. */
void conversation_write_change(const struct conversation_change *change,
                               struct conversation_write *write) NONNULL;

#endif
