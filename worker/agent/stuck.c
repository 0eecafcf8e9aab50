#include "worker/agent/stuck.h"

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/event_store.h"
#include "worker/agent/history.h"

#define EVENTS_LOOKED_AT 20
#define EVENTS_AT_LEAST 3
#define SAME_RESULT_TIMES 4
#define SAME_ERROR_TIMES 3
#define MONOLOGUE_TIMES 3
#define ALTERNATING_TIMES 6

/* The newest events since the user's last message, newest first, without state updates. */
struct recent {
    const struct stored_event *events[EVENTS_LOOKED_AT];
    size_t n;
};

static bool is_looked_at(const struct stored_event *event)
{
    static const char *const kinds[] = {"MessageEvent", "ActionEvent", "ObservationEvent",
                                        "AgentErrorEvent", "UserRejectObservation"};

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (stored_event_is(event, kinds[i]))
            return true;
    }
    return false;
}

static void recent_collect(const struct history *history, struct recent *recent)
{
    for (size_t i = history->n; i > 0 && recent->n < EVENTS_LOOKED_AT; i--) {
        const struct stored_event *event = &history->items[i - 1];

        if (stored_event_is_message(event, "user"))
            return;
        if (is_looked_at(event))
            recent->events[recent->n++] = event;
    }
}

static bool members_equal(const struct stored_event *a, const struct stored_event *b,
                          const char *const *members)
{
    for (size_t i = 0; members[i] != NULL; i++) {
        json_t *left = json_object_get(a->json, members[i]);
        json_t *right = json_object_get(b->json, members[i]);

        if (left != right && (left == NULL || right == NULL || json_equal(left, right) == 0))
            return false;
    }
    return true;
}

static bool actions_equal(const struct stored_event *a, const struct stored_event *b)
{
    static const char *const members[] = {"thought", "action", "tool_name", NULL};

    return members_equal(a, b, members);
}

/* Results of one kind that say the same; ids do not count. */
static bool results_equal(const struct stored_event *a, const struct stored_event *b)
{
    static const char *const members[] = {"observation", "error", "rejection_reason", "tool_name",
                                          NULL};

    return text_equal(a->kind, b->kind) && members_equal(a, b, members);
}

static bool is_result(const struct stored_event *event)
{
    return !stored_event_is(event, "ActionEvent") && !stored_event_is(event, "MessageEvent");
}

/* The newest actions and the newest results, each newest first. */
struct rounds {
    const struct stored_event *actions[EVENTS_LOOKED_AT];
    const struct stored_event *results[EVENTS_LOOKED_AT];
    size_t n_actions;
    size_t n_results;
};

static void rounds_collect(const struct recent *recent, struct rounds *rounds)
{
    for (size_t i = 0; i < recent->n; i++) {
        if (is_result(recent->events[i]))
            rounds->results[rounds->n_results++] = recent->events[i];
        else if (stored_event_is(recent->events[i], "ActionEvent"))
            rounds->actions[rounds->n_actions++] = recent->events[i];
    }
}

/* True when each of the n newest actions and results equals the one `step` places before it. */
static bool rounds_repeat(const struct rounds *rounds, size_t n, size_t step)
{
    if (rounds->n_actions < n || rounds->n_results < n)
        return false;
    for (size_t i = 0; i + step < n; i++) {
        if (!actions_equal(rounds->actions[i], rounds->actions[i + step]) ||
            !results_equal(rounds->results[i], rounds->results[i + step]))
            return false;
    }
    return true;
}

/* How many of the newest rounds are one and the same call that failed before it could run. */
static size_t rounds_failing_alike(const struct rounds *rounds)
{
    size_t n = 0;

    while (n < rounds->n_actions && n < rounds->n_results &&
           stored_event_is(rounds->results[n], "AgentErrorEvent") &&
           actions_equal(rounds->actions[0], rounds->actions[n]))
        n++;
    return n;
}

static size_t count_monologue(const struct recent *recent)
{
    size_t n = 0;

    for (size_t i = 0; i < recent->n; i++) {
        if (stored_event_is_message(recent->events[i], "agent"))
            n++;
        else if (!stored_event_is_message(recent->events[i], "environment"))
            break;
    }
    return n;
}

static void nudge_append(const struct stored_event *failed, struct strbuf *out)
{
    strbuf_appendf(out,
                   "The same call of the tool '%s' has now failed %d times in a row. Its last "
                   "error was: %s\nDo not repeat it. Read the error, then try another way.",
                   json_text_or(failed->json, "tool_name", ""), SAME_ERROR_TIMES,
                   json_text_or(failed->json, "error", ""));
}

enum stuck_verdict stuck_look(const struct history *history, struct strbuf *nudge_out)
{
    struct recent recent = {.n = 0};
    struct rounds rounds = {.n_actions = 0};
    size_t n_failing = 0;

    recent_collect(history, &recent);
    if (recent.n < EVENTS_AT_LEAST)
        return STUCK_NO;
    rounds_collect(&recent, &rounds);
    if (rounds_repeat(&rounds, SAME_RESULT_TIMES, 1) ||
        rounds_repeat(&rounds, ALTERNATING_TIMES, 2) || count_monologue(&recent) >= MONOLOGUE_TIMES)
        return STUCK_YES;
    n_failing = rounds_failing_alike(&rounds);
    if (n_failing > SAME_ERROR_TIMES)
        return STUCK_YES;
    /* A message behind the third failure is the nudge itself: it is given once. */
    if (n_failing < SAME_ERROR_TIMES || recent.events[0] != rounds.results[0])
        return STUCK_NO;
    nudge_append(rounds.results[0], nudge_out);
    return STUCK_NUDGE;
}
