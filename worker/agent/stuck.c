#include "worker/agent/stuck.h"

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/history.h"

#define EVENTS_LOOKED_AT 20
#define THRESHOLD_MOST 1000000

/* The newest events since the user's last message, newest first, without state updates. */
struct recent_events {
    const struct stored_event **events;
    size_t n;
    size_t n_most;
};

static void recent_events_done(struct recent_events *recent)
{
    mem_free(recent->events);
}

static size_t threshold_of(const json_t *thresholds, const char *name, json_int_t fallback)
{
    json_int_t n = json_int_or(thresholds, name, fallback);

    return (size_t)(n < 1 ? 1 : n > THRESHOLD_MOST ? THRESHOLD_MOST : n);
}

struct stuck_thresholds stuck_thresholds_of(const json_t *spec)
{
    const json_t *given = json_object_get(spec, "stuck_detection_thresholds");

    return (struct stuck_thresholds){
        .action_observation = threshold_of(given, "action_observation", 4),
        .action_error = threshold_of(given, "action_error", 3),
        .monologue = threshold_of(given, "monologue", 3),
        .alternating_pattern = threshold_of(given, "alternating_pattern", 6),
    };
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* With fewer events than this there is no repetition. */
static size_t events_at_least(const struct stuck_thresholds *thresholds)
{
    return least(thresholds->action_observation,
                 least(thresholds->action_error, thresholds->monologue));
}

/* Enough events to exceed any threshold: a round is two events, and a nudge may come in between. */
size_t stuck_events_looked_at(const struct stuck_thresholds *thresholds)
{
    size_t n = most(most(thresholds->action_observation, thresholds->alternating_pattern),
                    most(thresholds->action_error + 1, thresholds->monologue));

    return most(EVENTS_LOOKED_AT, 2 * n + 1);
}

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

static void recent_collect(const struct history *history, struct recent_events *recent)
{
    for (size_t i = history->n; i > 0 && recent->n < recent->n_most; i--) {
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
        json_t *left = json_object_get(stored_event_json(a), members[i]);
        json_t *right = json_object_get(stored_event_json(b), members[i]);

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

/* True for results of the same kind and content, ignoring ids. */
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
    const struct stored_event **actions;
    const struct stored_event **results;
    size_t n_actions;
    size_t n_results;
};

static void rounds_done(struct rounds *rounds)
{
    mem_free(rounds->actions);
    mem_free(rounds->results);
}

static void rounds_collect(const struct recent_events *recent, struct rounds *rounds)
{
    rounds->actions = mem_alloc_array(recent->n, sizeof(rounds->actions[0]));
    rounds->results = mem_alloc_array(recent->n, sizeof(rounds->actions[0]));
    for (size_t i = 0; i < recent->n; i++) {
        if (is_result(recent->events[i]))
            rounds->results[rounds->n_results++] = recent->events[i];
        else if (stored_event_is(recent->events[i], "ActionEvent"))
            rounds->actions[rounds->n_actions++] = recent->events[i];
    }
}

/* True if each of the n newest actions and results equals the one `step` positions before it. */
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

/* Number of newest rounds that are the same call, each time failing before it could run. */
static size_t rounds_failing_alike(const struct rounds *rounds)
{
    size_t n = 0;

    while (n < rounds->n_actions && n < rounds->n_results &&
           stored_event_is(rounds->results[n], "AgentErrorEvent") &&
           actions_equal(rounds->actions[0], rounds->actions[n]))
        n++;
    return n;
}

static size_t count_monologue(const struct recent_events *recent)
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

static void nudge_append(const struct stored_event *failed, size_t n_failing, struct strbuf *out)
{
    strbuf_appendf(out,
                   "The same call of the tool '%s' has now failed %zu times in a row. Its last "
                   "error was: %s\nDo not repeat it. Read the error, then try another way.",
                   json_text_or(stored_event_json(failed), "tool_name", ""), n_failing,
                   json_text_or(stored_event_json(failed), "error", ""));
}

static enum stuck_verdict judge(const struct recent_events *recent, const struct rounds *rounds,
                                const struct stuck_thresholds *thresholds, struct strbuf *nudge_out)
{
    size_t n_failing = rounds_failing_alike(rounds);

    if (rounds_repeat(rounds, thresholds->action_observation, 1) ||
        rounds_repeat(rounds, thresholds->alternating_pattern, 2) ||
        count_monologue(recent) >= thresholds->monologue || n_failing > thresholds->action_error)
        return STUCK_YES;
    /* A message after that failure is the nudge itself, which is given only once. */
    if (n_failing < thresholds->action_error || recent->events[0] != rounds->results[0])
        return STUCK_NO;
    nudge_append(rounds->results[0], n_failing, nudge_out);
    return STUCK_NUDGE;
}

enum stuck_verdict stuck_look(const struct history *history,
                              const struct stuck_thresholds *thresholds, struct strbuf *nudge_out)
{
    CLEANUP(recent_events_done) struct recent_events recent = {.n = 0};
    CLEANUP(rounds_done) struct rounds rounds = {.n_actions = 0};

    recent.n_most = least(stuck_events_looked_at(thresholds), history->n);
    recent.events = mem_alloc_array(recent.n_most, sizeof(recent.events[0]));
    recent_collect(history, &recent);
    if (recent.n < events_at_least(thresholds))
        return STUCK_NO;
    rounds_collect(&recent, &rounds);
    return judge(&recent, &rounds, thresholds, nudge_out);
}
