#include "fcgi/agent/conversation/conversation_edit.h"

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "model/agent/policy.h"
#include "model/conversation/sealed_secrets.h"
#include "model/prompt/planned_events.h"

enum { TRIES_MAX = 50 };

/* clang-format off */
#define CONVERSATION_EDIT_INIT {.conversation = CONVERSATION_INIT, .events = EVENT_LIST_INIT}
/* clang-format on */

static void conversation_edit_done(struct conversation_edit *edit)
{
    conversation_done(&edit->conversation);
    event_list_done(&edit->events);
    conversation_change_done(&edit->planned);
    mem_free(edit->title);
    mem_free(edit->sealed);
}

struct conversation_edit_input {
    json_t *body;
    const void *what;
};

/* *again_out: the plan was valid, but the conversation has changed: plan again. */
static int try_change(const struct request *request, const struct conversation_edit_input *input,
                      conversation_edit_plan *plan, bool *again_out, struct error *err)
{
    CLEANUP(conversation_edit_done) struct conversation_edit edit = CONVERSATION_EDIT_INIT;

    *again_out = false;
    edit.request = request;
    edit.body = input->body;
    edit.what = input->what;
    if (agent_load_conversation(request, UNKNOWN_PLAIN, &edit.conversation, err) < 0 ||
        plan(&edit, err) < 0)
        return -1;
    if (conversation_store_write(request->context->db, &edit.conversation, &edit.events,
                                 &edit.write, err) < 0) {
        *again_out = error_is_lost_race(err);
        return -1;
    }
    return 0;
}

static int apply(const struct request *request, const struct conversation_edit_input *input,
                 conversation_edit_plan *plan, struct error *err)
{
    bool again = true;
    int rc = -1;

    for (int i = 0; i < TRIES_MAX && again; i++)
        rc = try_change(request, input, plan, &again, err);
    return rc;
}

int conversation_edit_apply(const struct request *request, json_t *body,
                            conversation_edit_plan *plan, struct error *err)
{
    return apply(request, &(struct conversation_edit_input){.body = body}, plan, err);
}

int conversation_edit_apply_with(const struct request *request, const void *what,
                                 conversation_edit_plan *plan, struct error *err)
{
    return apply(request, &(struct conversation_edit_input){.what = what}, plan, err);
}

int conversation_edit_and_reply(const struct request *request, struct reply *reply,
                                conversation_edit_plan *plan, struct error *err)
{
    json_auto_t *body = NULL;

    if (request_json_object(request, &body, err) < 0 ||
        conversation_edit_apply(request, body, plan, err) < 0)
        return -1;
    return reply_success(reply);
}

void conversation_edit_set_spec(struct conversation_edit *edit, const char *key, json_t *value)
{
    json_put(edit->conversation.spec, key, value);
    edit->write.spec = edit->conversation.spec;
    event_add_state(&edit->events, key, value);
}

int conversation_edit_check_noted(const struct request *request, struct error *err)
{
    return json_array_size(request->problems) > 0 ? request_problems_noted(err) : 0;
}

json_t *conversation_edit_required_member(const struct conversation_edit *edit, const char *name,
                                          struct error *err)
{
    json_t *value = json_object_get(edit->body, name);

    if (value == NULL)
        error_ignore(request_problem(edit->request, REQUEST_JSON_PATH("body", name),
                                     &(struct validation_error){"missing", "Field required", NULL},
                                     edit->body, err),
                     "a NULL result reports the failure");
    return value;
}

int conversation_edit_open_secrets(const struct conversation_edit *edit, json_t **secrets_out,
                                   struct error *err)
{
    return sealed_secrets_open(&edit->request->context->keyring, &edit->conversation, secrets_out,
                               err);
}

void conversation_edit_seal_secrets(struct conversation_edit *edit, const json_t *secrets)
{
    mem_free(edit->sealed);
    edit->sealed =
        sealed_secrets_seal(&edit->request->context->keyring, &edit->conversation, secrets);
    edit->write.secrets = edit->sealed;
    edit->write.spec = edit->conversation.spec;
}

int conversation_edit_check_tags(const struct request *request, json_t *tags, struct error *err)
{
    const struct json_path *path = REQUEST_JSON_PATH("body", "tags");
    const char *name = NULL;
    json_t *value = NULL;

    if (json_typeof(tags) != JSON_OBJECT)
        return request_problem(
            request, path,
            &(struct validation_error){"dict_type", "Input should be a valid dictionary", NULL},
            tags, err);
    json_object_foreach (tags, name, value) {
        const struct json_path at = {path, name, 0};

        if (!json_is_string(value))
            validation_error_add(
                request->problems, &at,
                &(struct validation_error){"string_type", "Input should be a valid string", NULL},
                value);
    }
    tags_check(tags, path, request->problems);
    return conversation_edit_check_noted(request, err);
}
