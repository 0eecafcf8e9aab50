#include "fcgi/agent/info.h"

#include "base/error.h"
#include "base/json.h"
#include "fcgi/request.h"
#include "fcgi/sandbox_link.h"
#include "model/conversation.h"
#include "store/runtime_store.h"

/* What clients are told of each state of a sandbox. Paused counts as there: any call wakes it. */
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
    json_t *info = conversation_info(conversation);
    json_t *context = json_object_get(json_object_get(info, "agent"), "agent_context");

    if (skills == INFO_WITHOUT_SKILLS && json_object_get(context, "skills") != NULL)
        json_put(context, "skills", json_array());
    return info;
}

static json_t *runtime_error(const struct runtime *runtime)
{
    json_t *json = json_object();

    if (runtime->status != RUNTIME_ERROR) {
        json_decref(json);
        return json_null();
    }
    json_put_text(json, "code", "start_failed");
    json_put_text(json, "message",
                  runtime->status_detail != NULL ? runtime->status_detail : "the start failed");
    return json;
}

json_t *runtime_info(const struct request *request, const struct conversation *conversation,
                     struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    const struct sandbox_owner owner = {&request->principal, conversation};
    struct runtime_words words = {"available", true};
    json_t *json = NULL;

    if (sandbox_load_row(request->context, &owner, &runtime, err) == 0) {
        words = words_of[runtime.status];
        if (runtime.status == RUNTIME_RUNNING && runtime.desired == DESIRED_STOPPED)
            words = words_of[RUNTIME_STOPPED];
    } else if (err->code != ERROR_NOT_FOUND) {
        return NULL;
    }
    /* One that was never needed yet is as good as there: the first call makes it. */
    json = json_object();
    json_put_text(json, "runtime_status", words.status);
    json_put(json, "can_resume", json_boolean(words.can_resume));
    json_put(json, "runtime_error", runtime_error(&runtime));
    return json;
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
    return info;
}
