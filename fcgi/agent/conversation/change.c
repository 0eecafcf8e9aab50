#include "fcgi/agent/conversation/change.h"

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "fcgi/agent/agent.h"
#include "fcgi/context.h"
#include "fcgi/reply.h"
#include "model/agent/policy.h"
#include "model/conversation/vault.h"

enum { TRIES_MAX = 50 };

/* clang-format off */
#define CHANGE_INIT {.conversation = CONVERSATION_INIT, .events = EVENT_LIST_INIT}
/* clang-format on */

static void change_done(struct change *change)
{
    conversation_done(&change->conversation);
    event_list_done(&change->events);
    conversation_change_done(&change->planned);
    mem_free(change->title);
    mem_free(change->sealed);
}

struct change_input {
    json_t *body;
    const void *what;
};

/* *again_out: the plan was valid, but the conversation has changed: plan again. */
static int try_change(const struct request *request, const struct change_input *input,
                      change_plan *plan, bool *again_out, struct error *err)
{
    CLEANUP(change_done) struct change change = CHANGE_INIT;

    *again_out = false;
    change.request = request;
    change.body = input->body;
    change.what = input->what;
    if (agent_load_conversation(request, UNKNOWN_PLAIN, &change.conversation, err) < 0 ||
        plan(&change, err) < 0)
        return -1;
    if (conversation_store_write(request->context->db, &change.conversation, &change.events,
                                 &change.write, err) < 0) {
        *again_out = error_is_lost_race(err);
        return -1;
    }
    if (change.events.n > 0)
        agent_hint_events(request, &change.conversation.id);
    if (change.write.want_run || change.write.job.kind != NULL)
        agent_hint_work(request, &change.conversation.id);
    return 0;
}

static int apply(const struct request *request, const struct change_input *input, change_plan *plan,
                 struct error *err)
{
    bool again = true;
    int rc = -1;

    for (int i = 0; i < TRIES_MAX && again; i++)
        rc = try_change(request, input, plan, &again, err);
    return rc;
}

int change_apply(const struct request *request, json_t *body, change_plan *plan, struct error *err)
{
    return apply(request, &(struct change_input){.body = body}, plan, err);
}

int change_apply_with(const struct request *request, const void *what, change_plan *plan,
                      struct error *err)
{
    return apply(request, &(struct change_input){.what = what}, plan, err);
}

int change_and_reply(const struct request *request, struct reply *reply, change_plan *plan,
                     struct error *err)
{
    json_auto_t *body = NULL;

    if (request_json_object(request, &body, err) < 0 || change_apply(request, body, plan, err) < 0)
        return -1;
    return reply_success(reply);
}

void change_set_spec(struct change *change, const char *key, json_t *value)
{
    json_put(change->conversation.spec, key, value);
    change->write.spec = change->conversation.spec;
    event_add_state(&change->events, key, value);
}

int change_check_noted(const struct request *request, struct error *err)
{
    return json_array_size(request->problems) > 0 ? request_problems_noted(err) : 0;
}

json_t *change_required_member(const struct change *change, const char *name, struct error *err)
{
    json_t *value = json_object_get(change->body, name);

    if (value == NULL)
        error_ignore(request_problem(change->request, REQUEST_PLACE("body", name),
                                     &(struct problem){"missing", "Field required", NULL},
                                     change->body, err),
                     "NULL says it");
    return value;
}

int change_open_secrets(const struct change *change, json_t **secrets_out, struct error *err)
{
    return vault_open(&change->request->context->keyring, &change->conversation, secrets_out, err);
}

void change_seal_secrets(struct change *change, const json_t *secrets)
{
    mem_free(change->sealed);
    change->sealed = vault_seal(&change->request->context->keyring, &change->conversation, secrets);
    change->write.secrets = change->sealed;
    change->write.spec = change->conversation.spec;
}

int change_check_tags(const struct request *request, json_t *tags, struct error *err)
{
    const struct place *place = REQUEST_PLACE("body", "tags");
    const char *name = NULL;
    json_t *value = NULL;

    if (json_typeof(tags) != JSON_OBJECT)
        return request_problem(
            request, place,
            &(struct problem){"dict_type", "Input should be a valid dictionary", NULL}, tags, err);
    json_object_foreach (tags, name, value) {
        const struct place at = {place, name, 0};

        if (!json_is_string(value))
            problem_add(request->problems, &at,
                        &(struct problem){"string_type", "Input should be a valid string", NULL},
                        value);
    }
    tags_check(tags, place, request->problems);
    return change_check_noted(request, err);
}
