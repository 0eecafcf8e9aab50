/*
 * First half of the last stage: plans the rows of a new conversation, which are its first events,
 * the state that they leave it in, and its first job.
 *
 * Planning is separate from writing because the transaction is not always that of
 * start_store_order(): a run stores a conversation that it starts together with its own events.
 *
 * Ownership: start_rows_done() releases the rows.
 * Threading: no state.
 * Decision:  docs/decisions/0078-derived-conversations.md
 */
#ifndef DEFT_START_START_ROWS_H
#define DEFT_START_START_ROWS_H

#include <jansson.h>

#include "base/attr.h"
#include "model/event/event.h"
#include "model/prompt/planned_events.h"
#include "store/conversation/conversation_store.h"

struct catalogue;
struct conversation;
struct error;

enum start_folder { START_IN_FOLDER, START_IN_WORKTREE };

/* A placed conversation with sealed secrets, and its first message. All pointers are borrowed. */
struct start_order {
    const struct catalogue *catalogue;
    struct conversation *conversation;
    json_t *content;    /* of the first message, which starts a run; NULL: none */
    const char *sender; /* of that message; NULL: not given */
    enum start_folder folder;
    json_t *worktree_options; /* START_IN_WORKTREE: worktree_options of a start request, or NULL */
};

struct start_rows {
    struct event_list events;
    struct conversation_write write;   /* borrows from the members below */
    struct conversation_change change; /* by the first message */
    json_t *payload;                   /* of the job; NULL: none */
};

/* clang-format off */
#define START_ROWS_INIT                                                                            \
    {.events = EVENT_LIST_INIT, .write = {.guard = GUARD_NONE}, .change = CONVERSATION_CHANGE_INIT}
/* clang-format on */

void start_rows_done(struct start_rows *rows);

/*
 * Fills *rows_out, which is as after START_ROWS_INIT. A conversation that is to have a worktree
 * becomes pending and gets a job instead of its message. Errors: those of
 * conversation_plan_message().
 */
int start_rows_plan(const struct start_order *order, struct start_rows *rows_out,
                    struct error *err) NONNULL MUST_CHECK;

#endif
