#include "worker/agent/sandbox/checkpoint_copy.h"

#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "client/http.h"
#include "client/runtime_api.h"
#include "client/sandbox_call.h"
#include "model/conversation/conversation.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/sandbox/checkpoint.h"
#include "worker/agent/sandbox/sandbox_http.h"
#include "worker/context.h"

enum {
    ROUNDS_MAX = 4000, /* of at most 8 MiB each */
    ROUND_MS = 60000,
    TAKE_MS = 30000,
    FIND_MS = 10000,
};

static struct runtime_api api_of(const struct agent *agent)
{
    const struct worker_settings *settings = &agent->context->settings;

    return (struct runtime_api){
        .http = agent->context->http,
        .url = settings->runtime_url,
        .socket = settings->runtime_socket[0] != '\0' ? settings->runtime_socket : NULL,
        .key = &settings->runtime_key,
    };
}

/* Wakes the sandbox. One that was deleted is not made again: it would be empty. */
static int reach_holder(const struct agent *agent, const struct foreign_checkpoint *from,
                        struct sandbox_endpoint *holder, struct error *err)
{
    struct runtime_api api = api_of(agent);

    if (from->runtime_id != NULL &&
        runtime_api_resume(&api, from->runtime_id, agent->context->settings.sandbox_start_ms, err) <
            0)
        return error_wrap(err, "the sandbox with the files");
    if (runtime_api_find(&api, from->runtime_session, FIND_MS, holder, err) < 0)
        return error_wrap(err, "the sandbox with the files");
    if (from->runtime_id != NULL && !text_equal(from->runtime_id, holder->runtime_id))
        return error_set(err, ERROR_NOT_FOUND, "the sandbox with the files no longer exists");
    return 0;
}

/* Posts to the holder; *reply_out is a new reference. */
static int ask_holder(struct agent *agent, struct sandbox_endpoint *holder,
                      const struct sandbox_order *order, json_t **reply_out, struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    const struct sandbox_http_request question = {.method = "POST",
                                                  .path = order->path,
                                                  .content = order->content,
                                                  .timeout_ms = order->timeout_ms};

    if (sandbox_http_start(agent, holder, &question, &call, err) < 0 ||
        sandbox_http_wait(agent, call, err) < 0)
        return -1;
    return sandbox_ask_read(call, reply_out, err);
}

static int keep_tree(const char *tree, char tree_out[CHECKPOINT_TREE_BYTES], struct error *err)
{
    if (!checkpoint_is_name(tree))
        return error_set(err, ERROR_NOT_FOUND, "the sandbox gave no checkpoint");
    memcpy(tree_out, tree, CHECKPOINT_TREE_BYTES);
    return 0;
}

static int take(struct agent *agent, struct sandbox_endpoint *holder,
                char tree_out[CHECKPOINT_TREE_BYTES], struct error *err)
{
    json_auto_t *content = json_object();
    json_auto_t *reply = NULL;
    const struct sandbox_order order = {
        .path = "/checkpoints/take", .content = content, .timeout_ms = TAKE_MS + FIND_MS};

    /* A fork has its source's working directory. */
    json_put_text(content, "working_dir", conversation_working_dir(&agent->conversation));
    json_put(content, "timeout_ms", json_integer(TAKE_MS));
    if (ask_holder(agent, holder, &order, &reply, err) < 0)
        return -1;
    if (json_is_null(json_object_get(reply, "id")))
        return error_set(err, ERROR_INVALID, "%s", json_text_or(reply, "reason", "no checkpoint"));
    return keep_tree(json_text_or(reply, "id", ""), tree_out, err);
}

/* One round; *is_complete_out: nothing is missing. */
static int copy_some(struct agent *agent, struct sandbox_endpoint *holder, const json_t *wanted,
                     bool *is_complete_out, struct error *err)
{
    json_auto_t *missing = NULL;
    json_auto_t *objects = NULL;
    json_auto_t *written = NULL;
    struct sandbox_order order = {
        .path = "/checkpoints/missing", .content = wanted, .timeout_ms = ROUND_MS};

    if (sandbox_ask(agent->sandbox, &order, &missing, err) < 0)
        return -1;
    *is_complete_out = json_array_size(json_object_get(missing, "ids")) == 0;
    if (*is_complete_out)
        return 0;
    order.path = "/checkpoints/read";
    order.content = missing;
    if (ask_holder(agent, holder, &order, &objects, err) < 0)
        return -1;
    if (json_array_size(json_object_get(objects, "objects")) == 0)
        return error_set(err, ERROR_NOT_FOUND, "the sandbox no longer has the files");
    order.path = "/checkpoints/write";
    order.content = objects;
    return sandbox_ask(agent->sandbox, &order, &written, err);
}

static int copy_all(struct agent *agent, struct sandbox_endpoint *holder, const char *tree,
                    struct error *err)
{
    json_auto_t *wanted = json_object();
    bool is_complete = false;

    json_put_text(wanted, "id", tree);
    for (int i = 0; i < ROUNDS_MAX && !is_complete; i++) {
        if (copy_some(agent, holder, wanted, &is_complete, err) < 0)
            return -1;
    }
    return is_complete ? 0 : error_set(err, ERROR_TOO_LARGE, "the files are too many");
}

int checkpoint_copy(struct agent *agent, const struct foreign_checkpoint *from,
                    char tree_out[CHECKPOINT_TREE_BYTES], struct error *err)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint holder = SANDBOX_ENDPOINT_INIT;

    if (reach_holder(agent, from, &holder, err) < 0)
        return -1;
    if (from->tree == NULL) {
        if (take(agent, &holder, tree_out, err) < 0)
            return -1;
    } else if (keep_tree(from->tree, tree_out, err) < 0) {
        return -1;
    }
    return copy_all(agent, &holder, tree_out, err);
}
