/*
 * A client's change to a conversation: planned on its current state, written with its events, and
 * planned again after a concurrent change.
 *
 *     static int plan_title(struct conversation_edit *edit, struct error *err);
 *     …
 *     return conversation_edit_and_reply(request, reply, plan_title, err);
 *
 * Ownership: a change belongs to the function that applies it; a plan borrows it.
 * Threading: a change belongs to its request's thread.
 */
#ifndef DEFT_FCGI_AGENT_CONVERSATION_CONVERSATION_EDIT_H
#define DEFT_FCGI_AGENT_CONVERSATION_CONVERSATION_EDIT_H

#include <jansson.h>

#include "base/attr.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/prompt/planned_events.h"
#include "store/conversation/conversation_store.h"

struct error;
struct reply;
struct request;

/* A change being applied: its input, and what it writes. */
struct conversation_edit {
    const struct request *request;
    json_t *body;     /* NULL where there is none */
    const void *what; /* of conversation_edit_apply_with() */
    struct conversation conversation;
    struct event_list events;
    struct conversation_change planned; /* what write borrows from, if a message is planned */
    struct conversation_write write;
    char *title;  /* write.title */
    char *sealed; /* write.secrets */
};

/* Fills in events and write; fails with the error for the client. */
typedef int conversation_edit_plan(struct conversation_edit *edit, struct error *err);

/*
 * Plans and writes, again if the conversation has changed, then notifies readers of its events.
 * body: borrowed.
 */
int conversation_edit_apply(const struct request *request, json_t *body,
                            conversation_edit_plan *plan, struct error *err) NONNULL MUST_CHECK;
/* As above, with data from the handler instead of a body. */
int conversation_edit_apply_with(const struct request *request, const void *what,
                                 conversation_edit_plan *plan,
                                 struct error *err) NONNULL MUST_CHECK;
/* Reads the body, applies the change, replies with success. */
int conversation_edit_and_reply(const struct request *request, struct reply *reply,
                                conversation_edit_plan *plan, struct error *err) NONNULL MUST_CHECK;

/* Sets a member of the specification and adds an event for it; takes over the value. */
void conversation_edit_set_spec(struct conversation_edit *edit, const char *key,
                                json_t *value) NONNULL;
/* Fails with -1 when problems were noted. */
int conversation_edit_check_noted(const struct request *request,
                                  struct error *err) NONNULL MUST_CHECK;
/* Checks the tags of a body: an object of names and texts of limited length. */
int conversation_edit_check_tags(const struct request *request, json_t *tags,
                                 struct error *err) NONNULL MUST_CHECK;
/* Returns a required member (borrowed), or NULL with the problem noted if it is missing. */
json_t *conversation_edit_required_member(const struct conversation_edit *edit, const char *name,
                                          struct error *err) NONNULL MUST_CHECK;
/* The conversation's secrets in clear; an empty object when there are none yet. */
int conversation_edit_open_secrets(const struct conversation_edit *edit, json_t **secrets_out,
                                   struct error *err) NONNULL MUST_CHECK;
/* Seals the secrets for the write, which then includes the specification. */
void conversation_edit_seal_secrets(struct conversation_edit *edit, const json_t *secrets) NONNULL;

#endif
