#include "worker/agent/run_files.h"

#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/uuid.h"
#include "model/conversation/conversation.h"
#include "model/conversation/file_restore.h"
#include "model/event/event.h"
#include "store/conversation/checkpoint_store.h"
#include "store/conversation/conversation_store.h"
#include "worker/agent/calls/run_end.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/sandbox/checkpoint.h"
#include "worker/agent/sandbox/checkpoint_copy.h"
#include "worker/agent/sandbox/own_action.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/context.h"

#define TOOL "checkpoint"
#define OBSERVATION "CheckpointObservation"
/* A class name of the wire contract. */
#define CODE_FAILED "RuntimeError"

enum { RESTORE_MS = 150000 };

/* --- which files --- */

/* A found checkpoint, wherever it is. */
struct target {
    struct found_checkpoint found;
    char tree[CHECKPOINT_TREE_BYTES]; /* in the run's own sandbox; "": nothing is to be done */
};

/* clang-format off */
#define TARGET_INIT {FOUND_CHECKPOINT_INIT, ""}
/* clang-format on */

static void target_done(struct target *target)
{
    found_checkpoint_done(&target->found);
}

static bool is_own(const struct agent *agent, const char *runtime_id)
{
    return text_equal(runtime_id, sandbox_runtime_id(agent->sandbox));
}

/* The source's files as they are: in a sandbox that has run its calls, or that happens to run. */
static int copy_present(struct agent *agent, const struct file_restore *order,
                        struct target *target, struct error *err)
{
    CLEANUP(conversation_done) struct conversation source = CONVERSATION_INIT;
    struct foreign_checkpoint from = {.tree = NULL};
    struct uuid id = UUID_INIT;

    if (!uuid_parse(order->source_id, &id) ||
        conversation_store_load_any(agent->context->db, &id, &source, err) < 0)
        return -1;
    from.runtime_session = source.runtime_session;
    from.runtime_id = json_text_or(source.agent_state, AGENT_STATE_SANDBOX, NULL);
    if (text_equal(from.runtime_session, agent->conversation.runtime_session))
        return 0;
    return checkpoint_copy(agent, &from, target->tree, err);
}

static int copy_stored(struct agent *agent, const struct foreign_checkpoint *from,
                       char tree_out[CHECKPOINT_TREE_BYTES], struct error *err)
{
    if (!is_own(agent, from->runtime_id))
        return checkpoint_copy(agent, from, tree_out, err);
    if (!checkpoint_is_name(from->tree))
        return error_set(err, ERROR_NOT_FOUND, "the checkpoint is not known");
    memcpy(tree_out, from->tree, CHECKPOINT_TREE_BYTES);
    return 0;
}

static int find_of_source(struct agent *agent, const struct file_restore *order,
                          struct found_checkpoint *found, struct error *err)
{
    struct uuid id = UUID_INIT;

    if (!uuid_parse(order->source_id, &id))
        return error_set(err, ERROR_NOT_FOUND, "the source is not known");
    return checkpoint_store_find(agent->context->db, &id, order->event_id, found, err);
}

/* Makes the run's own sandbox have the objects of the wanted files. */
static int obtain(struct agent *agent, const struct file_restore *order, struct target *target,
                  struct error *err)
{
    const struct found_checkpoint *found = &target->found;
    const struct foreign_checkpoint known = {order->runtime_session, order->runtime_id,
                                             order->tree};

    if (order->tree != NULL && order->runtime_id != NULL && order->runtime_session != NULL)
        return copy_stored(agent, &known, target->tree, err);
    if (find_of_source(agent, order, &target->found, err) < 0)
        return -1;
    switch (found->state) {
    case CHECKPOINT_IS_PRESENT:
        return copy_present(agent, order, target, err);
    case CHECKPOINT_IS_STORED:
        return copy_stored(
            agent,
            &(struct foreign_checkpoint){found->runtime_session, found->runtime_id, found->tree},
            target->tree, err);
    case CHECKPOINT_IS_MISSING:
        break;
    }
    return error_set(err, ERROR_NOT_FOUND, "there is no checkpoint of the files at that event");
}

/* --- setting back --- */

/* The id is made from the order: a worker that takes over finds the result. */
static struct uuid action_id(const struct agent *agent, const struct file_restore *order)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    strbuf_appendf(&name, "%s/%s/restore", agent->lease.conversation_id.text, order->id);
    return uuid_from_name(name.text);
}

static int run_action(struct agent *agent, const struct file_restore *order, const char *tree,
                      json_t **observation_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf problem = STRBUF_INIT;
    json_auto_t *args = json_object();
    struct action_request request = {
        .action_id = action_id(agent, order),
        .tool = TOOL,
        .observation_kind = OBSERVATION,
        .args = args,
        .timeout_ms = RESTORE_MS,
    };

    json_put_text(args, "id", tree);
    if (own_action_run(agent, &request, observation_out, &problem, err) < 0)
        return -1;
    if (*observation_out == NULL)
        return error_set(err, ERROR_INVALID, "%s", problem.text);
    return 0;
}

/* The replaced files are those before the first event on the new branch; a fork replaces none. */
static int store_before(struct agent *agent, const json_t *observation, struct error *err)
{
    json_auto_t *details = NULL;
    const char *before = json_text_or(observation, "before", NULL);

    if (!checkpoint_is_name(before) || agent->history.branch_seq == 0)
        return 0;
    details = json_object();
    json_put(details, "skipped", json_array());
    return checkpoint_store(agent, agent->history.branch_seq, before, details, err);
}

static const char *text_of(const json_t *observation)
{
    const json_t *content = json_object_get(observation, "content");

    return json_text_or(json_array_get(content, 0), "text", "the sandbox gave no reason");
}

static int restore(struct agent *agent, const struct file_restore *order, struct error *err)
{
    CLEANUP(target_done) struct target target = TARGET_INIT;
    json_auto_t *observation = NULL;

    if (obtain(agent, order, &target, err) < 0)
        return -1;
    if (target.tree[0] == '\0')
        return 0;
    if (run_action(agent, order, target.tree, &observation, err) < 0 ||
        store_before(agent, observation, err) < 0)
        return -1;
    if (json_bool_or(observation, "is_error", 0) != 0)
        return error_set(err, ERROR_INVALID, "%s", text_of(observation));
    log_info("files.restored", LOG_INT("n_written", json_int_or(observation, "n_written", 0)),
             LOG_INT("n_removed", json_int_or(observation, "n_removed", 0)));
    return 0;
}

/* --- the end of the order --- */

static json_t *state_without_order(const struct agent *agent)
{
    json_t *state = json_copy(agent->conversation.agent_state);

    file_restore_clear(state);
    return state;
}

static void take_state(struct agent *agent, json_t *state)
{
    json_decref(agent->conversation.agent_state);
    agent->conversation.agent_state = json_incref(state);
}

static int drop_order(struct agent *agent, struct error *err)
{
    CLEANUP(event_list_done) struct event_list no_events = EVENT_LIST_INIT;
    json_auto_t *state = state_without_order(agent);
    const struct conversation_write change = {.agent_state = state};

    if (event_writer_append(agent, &no_events, &change, err) < 0)
        return -1;
    take_state(agent, state);
    return 0;
}

/* In one write: the next run goes on with the files as they are. */
static int end_run(struct agent *agent, const struct error *cause, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf detail = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf masked = STRBUF_INIT;
    json_auto_t *state = state_without_order(agent);
    struct conversation_write change = {.agent_state = state};

    strbuf_appendf(&detail,
                   "The files could not be set back: %s. Run the conversation again to continue "
                   "with the files as they are now.",
                   cause->message);
    secret_list_mask_text(&agent->secrets, detail.text, &masked);
    run_end_plan(&events, STATUS_ERROR, &change);
    event_add_conversation_error(&events, CODE_FAILED, masked.text);
    if (event_writer_append_unless_spoken(agent, &events, &change, err) < 0)
        return -1;
    agent->is_over = true;
    return 0;
}

static bool is_of_run(const struct error *failure)
{
    return failure->code == ERROR_CANCELLED || failure->code == ERROR_STALE;
}

/* Sets *settled_out if the run has ended. */
static int settle_failure(struct agent *agent, const struct file_restore *order,
                          const struct error *failure, bool *settled_out, struct error *err)
{
    if (is_of_run(failure)) {
        *err = *failure;
        return -1;
    }
    log_warning("files.not_restored", LOG_ERROR(failure));
    if (!order->is_required)
        return drop_order(agent, err);
    *settled_out = true;
    return end_run(agent, failure, err);
}

/* The order stays for the next run. */
static int end_without_sandbox(struct agent *agent, const struct error *failure, bool *settled_out,
                               struct error *err)
{
    if (is_of_run(failure)) {
        *err = *failure;
        return -1;
    }
    *settled_out = true;
    return run_end_error(agent, CODE_FAILED, failure->message, err);
}

int run_files_restore(struct agent *agent, bool *settled_out, struct error *err)
{
    struct file_restore order;
    struct error failure = ERROR_INIT;

    if (agent->sandbox == NULL || !file_restore_read(agent->conversation.agent_state, &order))
        return 0;
    if (sandbox_ready(agent->sandbox, &failure) < 0)
        return end_without_sandbox(agent, &failure, settled_out, err);
    if (restore(agent, &order, &failure) < 0)
        return settle_failure(agent, &order, &failure, settled_out, err);
    return drop_order(agent, err);
}
