/*
 * A conversation in this sandbox: its shell, its editor, its browser and the actions waiting for
 * them.
 *
 * Ownership: a conversation owns its terminal, editor, browser and pending actions.
 * Threading: one thread.
 */
#ifndef DEFT_SANDBOX_ACTIONS_CONVERSATION_H
#define DEFT_SANDBOX_ACTIONS_CONVERSATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "sandbox/core/limits.h"

struct action;
struct conversation;
struct error;
struct request;
struct server;

enum action_tool { ACTION_TERMINAL, ACTION_FILE_EDITOR, ACTION_BROWSER, ACTION_REPOSITORY };

/* The contents of a PUT. */
struct action_spec {
    char id[MAX_ACTION_ID_BYTES];
    struct uuid conversation;
    int64_t fence;
    char hash[ACTION_HASH_BYTES];
    enum action_tool tool;
    json_t *body; /* the whole request; borrowed */
};

struct conversation *conversation_new(struct server *server,
                                      const struct uuid *id) NONNULL MUST_CHECK;
/* Ends its shell and browser; requests waiting for an action are answered as interrupted. */
void conversation_free(struct conversation *conversation);
const struct uuid *conversation_id(const struct conversation *conversation) NONNULL MUST_CHECK;

/* The pending action with that id, or NULL. */
struct action *conversation_find_action(struct conversation *conversation,
                                        const char *id) NONNULL MUST_CHECK;
const char *action_hash(const struct action *action) NONNULL MUST_CHECK;
/* Answers the request when the action ends. ERROR_RATE_LIMITED with too many waiters. */
int action_wait(struct action *action, struct request *request,
                struct error *err) NONNULL MUST_CHECK;
/*
 * Starts an action, or queues it for the shell; `request` is answered when it ends.
 * ERROR_RATE_LIMITED when too many are queued, ERROR_INVALID for malformed arguments.
 */
int conversation_run(struct conversation *conversation, const struct action_spec *spec,
                     struct request *request, struct error *err) NONNULL MUST_CHECK;
/* True when no action runs or waits: freeing it ends only its shell and its browser. */
bool conversation_rests(const struct conversation *conversation) NONNULL MUST_CHECK;
/* Sends Ctrl-C to the shell and ends the browser's call; queued actions end as interrupted. */
void conversation_interrupt(struct conversation *conversation) NONNULL;

/* The body of a reply: {"state":"interrupted","reason":…}. The caller frees. */
char *action_interrupted_body(const char *reason) NONNULL MUST_CHECK;

#endif
