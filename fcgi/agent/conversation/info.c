#include "fcgi/agent/conversation/info.h"

#include <assert.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/request.h"
#include "fcgi/sandbox/sandbox_locate.h"
#include "model/conversation/conversation.h"
#include "model/limits.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/info_store.h"
#include "store/conversation/outage_store.h"
#include "store/runtime/runtime_store.h"

/*
 * The status that clients see for each sandbox state. Paused counts as available: any call resumes
 * it.
 */
struct runtime_words {
    const char *status;
    bool can_resume;
};

static const struct runtime_words words_of[] = {
    [RUNTIME_STARTING] = {"starting", true}, [RUNTIME_RUNNING] = {"available", true},
    [RUNTIME_PAUSED] = {"available", true},  [RUNTIME_STOPPED] = {"missing", true},
    [RUNTIME_ERROR] = {"error", true},
};

int info_skills_read(const struct request *request, enum info_skills *skills_out, struct error *err)
{
    bool is_wanted = false;

    if (request_query_bool(request, "include_skills", &is_wanted, err) < 0)
        return -1;
    *skills_out = is_wanted ? INFO_WITH_SKILLS : INFO_WITHOUT_SKILLS;
    return 0;
}

json_t *info_plain(const struct conversation *conversation, enum info_skills skills)
{
    return skills == INFO_WITH_SKILLS ? conversation_info(conversation)
                                      : conversation_info_brief(conversation);
}

static bool is_in_state(const struct info_sandbox *sandbox, enum runtime_status status)
{
    return sandbox->status != NULL && text_equal(sandbox->status, runtime_status_to_string(status));
}

static json_t *runtime_error(const struct info_sandbox *sandbox)
{
    json_t *json = NULL;

    if (!is_in_state(sandbox, RUNTIME_ERROR))
        return json_null();
    json = json_object();
    json_put_text(json, "code", "start_failed");
    json_put_text(json, "message", sandbox->detail != NULL ? sandbox->detail : "the start failed");
    return json;
}

/* A sandbox that was never needed counts as available, since the first call creates it. */
static struct runtime_words words_for(const struct info_sandbox *sandbox)
{
    static const struct runtime_words none = {"available", true};

    if (is_in_state(sandbox, RUNTIME_RUNNING) &&
        text_equal(sandbox->desired, runtime_desire_to_string(DESIRED_STOPPED)))
        return words_of[RUNTIME_STOPPED];
    for (size_t i = 0; i < ARRAY_SIZE(words_of); i++) {
        if (is_in_state(sandbox, (enum runtime_status)i))
            return words_of[i];
    }
    return none;
}

static json_t *sandbox_json(const struct info_sandbox *sandbox)
{
    const struct runtime_words words = words_for(sandbox);
    json_t *json = json_object();

    json_put_text(json, "runtime_status", words.status);
    json_put(json, "can_resume", json_boolean(words.can_resume));
    json_put(json, "runtime_error", runtime_error(sandbox));
    return json;
}

/* runtime NULL: there is none. */
static json_t *runtime_json(const struct runtime *runtime)
{
    struct info_sandbox sandbox = {NULL, NULL, NULL};

    if (runtime != NULL)
        sandbox = (struct info_sandbox){runtime_status_to_string(runtime->status),
                                        runtime_desire_to_string(runtime->desired),
                                        runtime->status_detail};
    return sandbox_json(&sandbox);
}

json_t *runtime_info(const struct request *request, const struct conversation *conversation,
                     struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    const struct sandbox_owner owner = {&request->principal, conversation};

    if (sandbox_load_row(request->context, &owner, &runtime, err) == 0)
        return runtime_json(&runtime);
    return err->code == ERROR_NOT_FOUND ? runtime_json(NULL) : NULL;
}

/* The place of a run that waits for one of its user's slots. */
static int add_queue_place(const struct request *request, const struct conversation *conversation,
                           json_t *state, struct error *err)
{
    const struct fcgi_context *context = request->context;
    json_t *queue = NULL;
    int64_t place = 0;

    if (conversation_store_queue_place(context->db, &conversation->id,
                                       context->settings->run_limits.n_slots, &place, err) < 0)
        return -1;
    if (place == 0)
        return 0;
    queue = json_object();
    json_put(queue, "position", json_integer((json_int_t)place));
    json_put(state, "run_queue", queue);
    return 0;
}

/* Since when a run waits for its model, why, and when it asks next. */
static int add_outage(const struct request *request, const struct conversation *conversation,
                      json_t *state, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *outage = NULL;

    if (outage_store_append_json(request->context->db, &conversation->id, &text, err) < 0)
        return -1;
    if (text.len == 0)
        return 0;
    if (json_parse(text.text, text.len, &outage, err) < 0)
        return -1;
    json_put(state, "model_outage", outage);
    return 0;
}

/* What a run without a worker waits for is shown in agent_state; its status is running. */
static int add_waits(const struct request *request, const struct conversation *conversation,
                     json_t *info, struct error *err)
{
    json_auto_t *state = NULL;

    if (!conversation->is_wanted || conversation->is_leased)
        return 0;
    state = json_copy(json_object_get(info, "agent_state"));
    if (add_queue_place(request, conversation, state, err) < 0 ||
        add_outage(request, conversation, state, err) < 0)
        return -1;
    json_put(info, "agent_state", json_incref(state));
    return 0;
}

json_t *info_with_runtime(const struct request *request, const struct conversation *conversation,
                          enum info_skills skills, struct error *err)
{
    json_t *runtime = runtime_info(request, conversation, err);
    json_t *info = NULL;

    if (runtime == NULL)
        return NULL;
    info = info_plain(conversation, skills);
    json_put(info, "runtime_info", runtime);
    if (add_waits(request, conversation, info, err) == 0)
        return info;
    json_decref(info);
    return NULL;
}

static const struct runtime *find_session(const struct runtime_list *runtimes, const char *session)
{
    for (size_t i = 0; i < runtimes->n; i++) {
        if (text_equal(runtimes->items[i].session_id, session))
            return &runtimes->items[i];
    }
    return NULL;
}

static int load_runtimes(const struct request *request, const struct conversation *conversations,
                         size_t n, struct runtime_list *runtimes_out, struct error *err)
{
    const char *sessions[PAGE_MAX_ITEMS] = {NULL};

    assert(n <= PAGE_MAX_ITEMS);
    for (size_t i = 0; i < n; i++)
        sessions[i] = conversations[i].runtime_session;
    return runtime_store_get_sessions(request->context->db, sessions, n, runtimes_out, err);
}

json_t *info_array(const struct request *request, const struct conversation *conversations,
                   size_t n, enum info_skills skills, struct error *err)
{
    CLEANUP(runtime_list_done) struct runtime_list runtimes = {0};
    json_t *list = NULL;

    if (n > 0 && load_runtimes(request, conversations, n, &runtimes, err) < 0)
        return NULL;
    list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *info = info_plain(&conversations[i], skills);

        json_put(info, "runtime_info",
                 runtime_json(find_session(&runtimes, conversations[i].runtime_session)));
        json_push(list, info);
    }
    return list;
}

static int append_item(const struct info_item *item, struct strbuf *out, struct error *err)
{
    json_auto_t *runtime = sandbox_json(&item->sandbox);

    if (conversation_append_info(&item->texts, out, err) < 0)
        return error_wrap(err, "conversation %s", item->texts.id.text);
    strbuf_append(out, ",\"runtime_info\":");
    json_append_text(out, runtime);
    strbuf_append_char(out, '}');
    return 0;
}

static size_t find_item(const struct info_list *list, const struct uuid *id)
{
    size_t i = 0;

    while (i < list->n && !text_equal(list->items[i].texts.id.text, id->text))
        i++;
    return i;
}

int info_append_array(const struct info_list *list, const struct uuid *ids, size_t n,
                      struct strbuf *out, struct error *err)
{
    size_t n_shown = ids != NULL ? n : list->n;

    strbuf_reserve(out, list->n_bytes);
    strbuf_append_char(out, '[');
    for (size_t i = 0; i < n_shown; i++) {
        size_t at = ids != NULL ? find_item(list, &ids[i]) : i;

        if (i > 0)
            strbuf_append_char(out, ',');
        if (at >= list->n)
            strbuf_append(out, "null");
        else if (append_item(&list->items[at], out, err) < 0)
            return -1;
    }
    strbuf_append_char(out, ']');
    return 0;
}

int info_append_one(const struct info_list *list, struct strbuf *out, struct error *err)
{
    strbuf_reserve(out, list->n_bytes);
    return append_item(&list->items[0], out, err);
}
