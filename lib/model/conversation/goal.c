#include "model/conversation/goal.h"

#include "base/json.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"

static const char *const status_words[] = {
#define X(constant, text) [constant] = (text),
    GOAL_STATUSES(X)
#undef X
};

json_t *goal_of(const struct conversation *conversation)
{
    return json_object_get(conversation->spec, "goal");
}

bool goal_is_active(const struct conversation *conversation)
{
    return json_bool_or(goal_of(conversation), "active", 0) != 0;
}

bool goal_can_resume(const struct conversation *conversation)
{
    return text_equal(json_text_or(goal_of(conversation), "status", ""),
                      status_words[GOAL_INTERRUPTED]);
}

const char *goal_job(const struct conversation *conversation)
{
    return goal_is_active(conversation) ? "goal" : NULL;
}

static void put_goal(struct conversation *conversation, json_t *goal, struct event_list *events)
{
    event_add_state(events, "goal", goal);
    json_put(conversation->spec, "goal", goal);
}

static void put_status(json_t *goal, enum goal_status status)
{
    json_put(goal, "active", json_boolean(status == GOAL_RUNNING));
    json_put_text(goal, "status", status_words[status]);
}

void goal_start(struct conversation *conversation, const char *objective, json_int_t max_iterations,
                struct event_list *events)
{
    json_t *goal = json_object();

    put_status(goal, GOAL_RUNNING);
    json_put(goal, "iteration", json_integer(1));
    json_put(goal, "max_iterations", json_integer(max_iterations));
    json_put_text(goal, "objective", objective);
    json_put(goal, "verdict", json_null());
    put_goal(conversation, goal, events);
}

void goal_set(struct conversation *conversation, enum goal_status status, json_t *verdict,
              struct event_list *events)
{
    /* Copied because an earlier event refers to the previous object. */
    json_t *goal = json_copy(goal_of(conversation));

    put_status(goal, status);
    if (verdict != NULL)
        json_put(goal, "verdict", json_incref(verdict));
    put_goal(conversation, goal, events);
}

bool goal_next_round(struct conversation *conversation, json_t *verdict, struct event_list *events)
{
    json_t *goal = json_copy(goal_of(conversation));
    json_int_t iteration = json_int_or(goal, "iteration", 1);
    bool has_next =
        iteration < json_int_or(goal, "max_iterations", (json_int_t)GOAL_ITERATIONS_DEFAULT);

    put_status(goal, has_next ? GOAL_RUNNING : GOAL_CAPPED);
    json_put(goal, "iteration", json_integer(has_next ? iteration + 1 : iteration));
    json_put(goal, "verdict", json_incref(verdict));
    put_goal(conversation, goal, events);
    return has_next;
}

bool goal_give_way(struct conversation *conversation, struct event_list *events)
{
    if (!goal_is_active(conversation))
        return false;
    goal_set(conversation, GOAL_INTERRUPTED, NULL, events);
    return true;
}
