#include "runtime/core/runtime_state.h"

#define HELPER_GRACE_MS 20000

static const struct runtime_transition steps[N_VERBS][RUNTIME_N_STATUSES] = {
    [VERB_START] =
        {
            [RUNTIME_STARTING] = {ACT_LAUNCH, RUNTIME_RUNNING},
            [RUNTIME_RUNNING] = {ACT_NONE, RUNTIME_RUNNING},
            [RUNTIME_PAUSED] = {ACT_THAW, RUNTIME_RUNNING},
            [RUNTIME_STOPPED] = {ACT_LAUNCH, RUNTIME_RUNNING},
            [RUNTIME_ERROR] = {ACT_LAUNCH, RUNTIME_RUNNING},
        },
    [VERB_PAUSE] =
        {
            [RUNTIME_STARTING] = {ACT_END, RUNTIME_PAUSED},
            [RUNTIME_RUNNING] = {ACT_FREEZE, RUNTIME_PAUSED},
            [RUNTIME_PAUSED] = {ACT_NONE, RUNTIME_PAUSED},
            [RUNTIME_STOPPED] = {ACT_NONE, RUNTIME_STOPPED},
            [RUNTIME_ERROR] = {ACT_END, RUNTIME_PAUSED},
        },
    [VERB_STOP] =
        {
            [RUNTIME_STARTING] = {ACT_END, RUNTIME_STOPPED},
            [RUNTIME_RUNNING] = {ACT_END, RUNTIME_STOPPED},
            [RUNTIME_PAUSED] = {ACT_END, RUNTIME_STOPPED},
            [RUNTIME_STOPPED] = {ACT_NONE, RUNTIME_STOPPED},
            [RUNTIME_ERROR] = {ACT_END, RUNTIME_STOPPED},
        },
    [VERB_DELETE] =
        {
            [RUNTIME_STARTING] = {ACT_FORGET, RUNTIME_STOPPED},
            [RUNTIME_RUNNING] = {ACT_FORGET, RUNTIME_STOPPED},
            [RUNTIME_PAUSED] = {ACT_FORGET, RUNTIME_STOPPED},
            [RUNTIME_STOPPED] = {ACT_FORGET, RUNTIME_STOPPED},
            [RUNTIME_ERROR] = {ACT_FORGET, RUNTIME_STOPPED},
        },
    [VERB_LOSE] =
        {
            [RUNTIME_STARTING] = {ACT_NONE, RUNTIME_STARTING},
            [RUNTIME_RUNNING] = {ACT_END, RUNTIME_ERROR},
            [RUNTIME_PAUSED] = {ACT_END, RUNTIME_PAUSED},
            [RUNTIME_STOPPED] = {ACT_NONE, RUNTIME_STOPPED},
            [RUNTIME_ERROR] = {ACT_NONE, RUNTIME_ERROR},
        },
};

static const char *const verb_names[N_VERBS] = {
    [VERB_START] = "start",   [VERB_PAUSE] = "pause", [VERB_STOP] = "stop",
    [VERB_DELETE] = "delete", [VERB_LOSE] = "lose",
};

static const enum runtime_verb verb_of_desire[DESIRED_N] = {
    [DESIRED_RUNNING] = VERB_START,
    [DESIRED_PAUSED] = VERB_PAUSE,
    [DESIRED_STOPPED] = VERB_STOP,
    [DESIRED_DELETED] = VERB_DELETE,
};

struct runtime_transition runtime_state_next(enum runtime_verb verb, enum runtime_status status)
{
    return steps[verb][status];
}

const char *runtime_verb_to_string(enum runtime_verb verb)
{
    return verb_names[verb];
}

enum runtime_verb runtime_verb_of(enum runtime_desire desired)
{
    return verb_of_desire[desired];
}

/* Desired states that are carried out whatever the container's state is. */
static enum reconcile_verdict verdict_of_desired(const struct runtime *row)
{
    switch (row->desired) {
    case DESIRED_DELETED:
        return VERDICT_DELETE;
    case DESIRED_STOPPED:
        return row->status == RUNTIME_STOPPED ? VERDICT_FINE : VERDICT_STOP;
    case DESIRED_PAUSED:
        return row->status == RUNTIME_PAUSED || row->status == RUNTIME_STOPPED ? VERDICT_FINE
                                                                               : VERDICT_PAUSE;
    case DESIRED_RUNNING:
    case DESIRED_N:
        break;
    }
    return VERDICT_FINE;
}

static bool is_alive(const struct seen_sandbox *seen)
{
    return seen != NULL && (seen->state == SEEN_RUNNING || seen->state == SEEN_PAUSED);
}

/* A pause may have been interrupted, or undone externally; an ended container is useless. */
static enum reconcile_verdict judge_paused(const struct runtime *row,
                                           const struct seen_sandbox *seen)
{
    if (row->desired == DESIRED_RUNNING)
        return VERDICT_START;
    if (row->container_id == NULL)
        return seen != NULL ? VERDICT_REMOVE_CONTAINER : VERDICT_FINE;
    if (!is_alive(seen))
        return VERDICT_REMOVE_CONTAINER;
    return seen->state == SEEN_PAUSED ? VERDICT_FINE : VERDICT_HOLD;
}

enum reconcile_verdict reconcile_verdict_of(const struct runtime *row,
                                            const struct seen_sandbox *seen)
{
    enum reconcile_verdict verdict = verdict_of_desired(row);

    if (verdict != VERDICT_FINE)
        return verdict;
    switch (row->status) {
    case RUNTIME_STARTING:
        return VERDICT_START;
    case RUNTIME_RUNNING:
        return is_alive(seen) ? VERDICT_FINE : VERDICT_LOST;
    case RUNTIME_PAUSED:
        return judge_paused(row, seen);
    case RUNTIME_STOPPED:
    case RUNTIME_ERROR:
        return seen != NULL ? VERDICT_REMOVE_CONTAINER : VERDICT_FINE;
    case RUNTIME_N_STATUSES:
        break;
    }
    return VERDICT_FINE;
}

bool runtime_state_is_orphan(const struct seen_sandbox *seen, int64_t now_s, int64_t grace_ms)
{
    int64_t age_ms = (now_s - seen->created_at_s) * 1000;

    /* A helper belongs to no runtime, and files may still be being copied through it. */
    if (seen->runtime_id[0] == '\0' && age_ms < HELPER_GRACE_MS)
        return false;
    return age_ms >= grace_ms;
}
