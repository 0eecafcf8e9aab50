/*
 * A change of a conversation by its client: planned on the conversation as it is, written with its
 * events, and planned again when somebody else was faster.
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

/* A change on its way: what the body says, and what becomes of it. */
struct change {
    const struct request *request;
    json_t *body;     /* NULL where there is none */
    const void *what; /* of change_apply_with() */
    struct conversation conversation;
    struct event_list events;
    struct conversation_change planned; /* what write borrows from, where a message is planned */
    struct conversation_write write;
    char *title;  /* write.title */
    char *sealed; /* write.secrets */
};

/* Fills in events and write; fails with what the client is told. */
typedef int change_plan(struct change *change, struct error *err);

/* Plans and writes until it holds, and wakes who looks at the events. body: borrowed. */
int change_apply(const struct request *request, json_t *body, change_plan *plan,
                 struct error *err) NONNULL MUST_CHECK;
/* The same with what the handler has found out instead of a body. */
int change_apply_with(const struct request *request, const void *what, change_plan *plan,
                      struct error *err) NONNULL MUST_CHECK;
/* Reads the body, applies the change, answers with success. */
int change_and_reply(const struct request *request, struct reply *reply, change_plan *plan,
                     struct error *err) NONNULL MUST_CHECK;

/* Sets a member of the specification and tells about it; takes the value over. */
void change_set_spec(struct change *change, const char *key, json_t *value) NONNULL;
/* -1 when problems were noted. */
int change_check_noted(const struct request *request, struct error *err) NONNULL MUST_CHECK;
/* The tags of a body, which are an object: names, and texts of a certain length. */
int change_check_tags(const struct request *request, json_t *tags,
                      struct error *err) NONNULL MUST_CHECK;
/* A member that must be there; NULL with the problem noted when it is not. Borrowed. */
json_t *change_required_member(const struct change *change, const char *name,
                               struct error *err) NONNULL MUST_CHECK;
/* The opened secrets of the conversation; an empty object when there are none yet. */
int change_open_secrets(const struct change *change, json_t **secrets_out,
                        struct error *err) NONNULL MUST_CHECK;
/* Seals them for the write, which then has the specification, too. */
void change_seal_secrets(struct change *change, const json_t *secrets) NONNULL;

#endif
