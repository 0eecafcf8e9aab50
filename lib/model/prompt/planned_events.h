/*
 * The events that a client's request adds to a conversation in its current state, and the row's new
 * state. The caller writes them at conversation->last_seq + 1, and on ERROR_CONFLICT reloads and
 * plans again.
 *
 * Ownership: conversation_change_done() releases a change.
 * Threading: pure.
 */
#ifndef DEFT_MODEL_PROMPT_PLANNED_EVENTS_H
#define DEFT_MODEL_PROMPT_PLANNED_EVENTS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "model/event/status.h"

struct catalogue;
struct conversation;
struct error;
struct event_list;

struct conversation_change {
    enum execution_status status;     /* after the change */
    bool wants_run;                   /* set wanted_at */
    struct uuid last_user_message_id; /* unset: unchanged */
    bool wants_title;                 /* request one from a model */
    char *first_title;                /* else this one, if it has none; NULL: none */
    char *stats;                      /* JSON text; NULL: unchanged */
};

/* clang-format off */
#define CONVERSATION_CHANGE_INIT {.last_user_message_id = UUID_INIT}
/* clang-format on */

void conversation_change_done(struct conversation_change *change);

/* Adds the SystemPromptEvent that a first message would add. */
void conversation_add_system_prompt(const struct catalogue *catalogue,
                                    const struct conversation *conversation,
                                    struct event_list *events) NONNULL;
/* The effects of a user's message. */
enum message_run { MESSAGE_ONLY, MESSAGE_AND_RUN };

/* A user's message; all pointers are borrowed. */
struct planned_message {
    const struct catalogue *catalogue;
    json_t *content;
    enum message_run run;
};

/* Plans a user's message. First adds SystemPromptEvent if there is none. */
int conversation_plan_message(const struct conversation *conversation,
                              const struct planned_message *message, struct event_list *events,
                              struct conversation_change *change_out,
                              struct error *err) NONNULL MUST_CHECK;
/* Plans a run request without a message. */
void conversation_plan_run(const struct catalogue *catalogue,
                           const struct conversation *conversation, struct event_list *events,
                           struct conversation_change *change_out) NONNULL;

#endif
