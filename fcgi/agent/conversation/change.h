/*
 * A client's change to a conversation: planned on its current state, written with its events, and
 * planned again after a concurrent change.
 *
 *     static int plan_title(struct change *change, struct error *err);
 *     …
 *     return change_and_reply(request, reply, plan_title, err);
 *
 * Ownership: a change belongs to the function that applies it; a plan borrows it.
 * Threading: a change belongs to its request's thread.
 */
#ifndef DEFT_FCGI_AGENT_CONVERSATION_CHANGE_H
#define DEFT_FCGI_AGENT_CONVERSATION_CHANGE_H

#include <jansson.h>

#include "base/attr.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/conversation_store.h"

struct error;
struct reply;
struct request;

/* A change being applied: its input, and what it writes. */
struct change {
    const struct request *request;
    json_t *body;     /* NULL where there is none */
    const void *what; /* of change_apply_with() */
    struct conversation conversation;
    struct event_list events;
    struct conversation_change planned; /* what write borrows from, if a message is planned */
    struct conversation_write write;
    char *title;  /* write.title */
    char *sealed; /* write.secrets */
};

/* Fills in events and write; fails with the error for the client. */
typedef int change_plan(struct change *change, struct error *err);

/*
 * Plans and writes, again if the conversation has changed, then notifies readers of its events.
 * body: borrowed.
 */
int change_apply(const struct request *request, json_t *body, change_plan *plan,
                 struct error *err) NONNULL MUST_CHECK;
/* As above, with data from the handler instead of a body. */
int change_apply_with(const struct request *request, const void *what, change_plan *plan,
                      struct error *err) NONNULL MUST_CHECK;
/* Reads the body, applies the change, replies with success. */
int change_and_reply(const struct request *request, struct reply *reply, change_plan *plan,
                     struct error *err) NONNULL MUST_CHECK;

/* Sets a member of the specification and adds an event for it; takes over the value. */
void change_set_spec(struct change *change, const char *key, json_t *value) NONNULL;
/* Fails with -1 when problems were noted. */
int change_check_noted(const struct request *request, struct error *err) NONNULL MUST_CHECK;
/* Checks the tags of a body: an object of names and texts of limited length. */
int change_check_tags(const struct request *request, json_t *tags,
                      struct error *err) NONNULL MUST_CHECK;
/* Returns a required member (borrowed), or NULL with the problem noted if it is missing. */
json_t *change_required_member(const struct change *change, const char *name,
                               struct error *err) NONNULL MUST_CHECK;
/* The conversation's secrets in clear; an empty object when there are none yet. */
int change_open_secrets(const struct change *change, json_t **secrets_out,
                        struct error *err) NONNULL MUST_CHECK;
/* Seals the secrets for the write, which then includes the specification. */
void change_seal_secrets(struct change *change, const json_t *secrets) NONNULL;

#endif
