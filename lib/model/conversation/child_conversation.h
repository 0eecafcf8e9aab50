/*
 * Child conversations: started by another one for a task, with the same agent, in the same sandbox.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_CONVERSATION_CHILD_CONVERSATION_H
#define DEFT_MODEL_CONVERSATION_CHILD_CONVERSATION_H

#include "base/attr.h"
#include "base/uuid.h"

struct conversation;
struct error;
struct keyring;

enum { CHILD_TASK_MAX_CHARS = 100000 };

/* Returns the id of the child that a call of the parent's agent starts: derived from both, so that
 * any worker continuing the call gets the same one. */
struct uuid child_conversation_id(const struct uuid *parent_id,
                                  const struct uuid *action_id) NONNULL MUST_CHECK;
/* The same for a delegate that such a call names. */
struct uuid child_delegate_id(const struct uuid *parent_id, const struct uuid *action_id,
                              const char *name) NONNULL MUST_CHECK;
/*
 * Fills *child_out (as after CONVERSATION_INIT, optionally with an id) with a new conversation of
 * the parent's specification; its owner, parent and sandbox are still to be set. It gets the
 * parent's secrets, sealed for it. title: NULL or blank for none. ERROR_INTERNAL if the parent's
 * secrets cannot be opened.
 */
int child_conversation_make(const struct keyring *keyring, const struct conversation *parent,
                            const char *title, struct conversation *child_out, struct error *err)
    __attribute__((nonnull(1, 2, 4, 5))) MUST_CHECK;

#endif
