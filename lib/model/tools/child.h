/*
 * A conversation that another one starts: with the same agent, in the same sandbox, for a task of
 * its own.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_TOOLS_CHILD_H
#define DEFT_MODEL_TOOLS_CHILD_H

#include "base/attr.h"
#include "base/uuid.h"

struct conversation;
struct conversation_change;
struct error;
struct event_list;
struct keyring;

enum { CHILD_TASK_MAX_CHARS = 100000 };

/* The id of the child that a call of the parent's agent starts: the same whoever goes on with it.
 */
struct uuid child_id_of_call(const struct uuid *parent_id,
                             const struct uuid *action_id) NONNULL MUST_CHECK;
/*
 * Fills *child_out (as after CONVERSATION_INIT, but for an id that it is to have) with a new
 * conversation of the parent's owner. Its secrets are the parent's, sealed anew. title: NULL or
 * blank: none. ERROR_INTERNAL when the parent's secrets cannot be read.
 */
int child_make(const struct keyring *keyring, const struct conversation *parent, const char *title,
               struct conversation *child_out, struct error *err)
    __attribute__((nonnull(1, 2, 4, 5))) MUST_CHECK;
/* Its first events and the row's state: the task in the user's name, and a run. */
int child_plan(const struct conversation *child, const char *task, struct event_list *events,
               struct conversation_change *change_out, struct error *err) NONNULL MUST_CHECK;

#endif
