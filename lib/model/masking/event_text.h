/*
 * Free text in events: a table of the members that hold text of a user, a model or a program. All
 * other strings (kinds, types, ids, enumerated values, tool names, paths, object keys) belong to
 * the contract: clients refuse an event in which one of them is changed.
 *
 * Threading: no state.
 * Decision: docs/decisions/0035-masking.md
 */
#ifndef DEFT_MODEL_MASKING_EVENT_TEXT_H
#define DEFT_MODEL_MASKING_EVENT_TEXT_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct conversation;

struct text_visitor {
    /* May set the string's value. Returns true if it did. */
    bool (*visit)(void *context, json_t *string);
    void *context;
};

/* Visits the free text of an event and of its observation; not that of an action. */
void event_texts_visit(json_t *event, const struct text_visitor *visitor) NONNULL;
/* Visits the free text of an action. `conversation` tells which values of client tools are
 * enumerated. Returns true if a text was changed. */
bool action_texts_visit(json_t *action, const struct conversation *conversation,
                        const struct text_visitor *visitor) NONNULL;
/*
 * As action_texts_visit(), for a call's arguments, parsed as the model wrote them. Members that the
 * action does not have are free text, except security_risk. action: NULL if the call is invalid.
 */
bool arguments_texts_visit(json_t *arguments, const json_t *action,
                           const struct conversation *conversation,
                           const struct text_visitor *visitor) __attribute__((nonnull(1, 3, 4)));

#endif
