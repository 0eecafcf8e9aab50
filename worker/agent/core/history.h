/*
 * Queries on a conversation's stored history: pending calls, user messages, iterations.
 *
 * Ownership: results point into the history and are valid until it changes.
 * Threading: pure.
 */
#ifndef DEFT_WORKER_AGENT_CORE_HISTORY_H
#define DEFT_WORKER_AGENT_CORE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"

struct call_ref;
struct event_list;
struct history;
struct history_gap;
struct stored_event;

/* True for an event of that kind. */
bool stored_event_is(const struct stored_event *event, const char *kind) NONNULL MUST_CHECK;
/* True for a MessageEvent from that source. */
bool stored_event_is_message(const struct stored_event *event,
                             const char *source) NONNULL MUST_CHECK;

/* What the workspace told, if the event has it (model/prompt/project_knowledge.h), or NULL. */
const json_t *stored_event_knowledge(const struct stored_event *event) NONNULL MUST_CHECK;

/* The reference for results of that ActionEvent; valid as long as the event. */
struct call_ref call_ref_of(const struct stored_event *action) NONNULL MUST_CHECK;

/* Positions of events in a history. */
struct index_list {
    size_t *items;
    size_t n;
    size_t size;
};

/* clang-format off */
#define INDEX_LIST_INIT {NULL, 0, 0}
/* clang-format on */

void index_list_done(struct index_list *list);
/* Appends an index. */
void index_list_add(struct index_list *list, size_t index) NONNULL;

/* Adds the indexes of executable actions without a result, oldest first. */
void history_find_pending(const struct history *history, struct index_list *pending) NONNULL;
/* Removes calls up to that seq that have no result. */
void history_drop_open_calls(struct history *history, int64_t through_seq) NONNULL;
/* The result of an action, searched after it, or NULL. */
const struct stored_event *history_find_result(const struct history *history,
                                               size_t action) NONNULL MUST_CHECK;
bool history_has_result_of(const struct history *history,
                           const struct uuid *action_id) NONNULL MUST_CHECK;
/* True if a message of the user has a seq above this one. */
bool history_has_user_message_after(const struct history *history, int64_t seq) NONNULL MUST_CHECK;
/* The first message of the user, or NULL. */
const struct stored_event *
history_first_user_message(const struct history *history) NONNULL MUST_CHECK;
/* The last change of the conversation's status, or NULL. */
const struct stored_event *history_find_status(const struct history *history) NONNULL MUST_CHECK;
/* True for the state update that marks the start of a run. */
bool history_event_begins_run(const struct stored_event *event) NONNULL MUST_CHECK;
/* Model answers since the run began, including those that another worker requested. */
int64_t history_count_iterations(const struct history *history) NONNULL MUST_CHECK;
/* The same when the history ended before that index. */
int64_t history_count_iterations_until(const struct history *history,
                                       size_t end) NONNULL MUST_CHECK;
bool history_has_call_id(const struct history *history,
                         const char *tool_call_id) NONNULL MUST_CHECK;
/* True if a model has answered in the history. */
bool history_has_answer(const struct history *history) NONNULL MUST_CHECK;
/* The index of the first event after the model's last answer; 0 if it has not answered. */
size_t history_index_after_answer(const struct history *history) NONNULL MUST_CHECK;
/* What the workspace told last (model/prompt/project_knowledge.h), or NULL. */
const json_t *history_find_knowledge(const struct history *history) NONNULL MUST_CHECK;
/*
 * The index of the newest request of a hook to read the workspace anew (knowledge_request.h) that
 * no reading has ended; history->n if there is none.
 */
size_t history_find_hook_request(const struct history *history) NONNULL MUST_CHECK;
/* True if the history contains a model answer with that id. */
bool history_has_response_id(const struct history *history,
                             const char *response_id) NONNULL MUST_CHECK;
bool history_has_event(const struct history *history, const struct uuid *id) NONNULL MUST_CHECK;
/* Adds events just appended, as if loaded: shares their bodies, and takes their texts. */
void history_add_written(struct history *history, struct event_list *events,
                         int64_t first_seq) NONNULL;
/* Adds the ids of an event that the history leaves out, so that they count as used. */
void history_note_ids(struct history_gap *gap, const struct stored_event *event) NONNULL;
/* The index of the first event after that seq; history->n if there is none. */
size_t history_index_after(const struct history *history, int64_t seq) NONNULL MUST_CHECK;
/*
 * Drops from the events after the first n what only clients need: tool definitions (the model's
 * come from the spec), and the bodies of events with cost totals, which come with each answer.
 */
void history_thin(struct history *history, size_t n) NONNULL;

#endif
