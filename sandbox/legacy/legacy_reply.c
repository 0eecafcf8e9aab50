#include "sandbox/legacy/legacy_reply.h"

#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/http/server_request.h"

/* The observation's message for people; %s is replaced by the member of extras. */
struct message_template {
    const char *type;
    const char *text;
    const char *member;
};

static const struct message_template phrases[] = {
    {"read", "I read the file %s.", "path"},
    {"write", "I wrote to the file %s.", "path"},
    {"edit", "I edited the file %s.", "path"},
    {"run_ipython", "Code executed in IPython cell.", NULL},
};

static void put_message(json_t *observation, const char *type, const char *content)
{
    const json_t *extras = json_object_get(observation, "extras");

    for (size_t i = 0; i < ARRAY_SIZE(phrases); i++) {
        CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
        const char *rest = strstr(phrases[i].text, "%s");

        if (!text_equal(phrases[i].type, type))
            continue;
        strbuf_append(&message, phrases[i].text);
        if (rest != NULL) {
            strbuf_truncate(&message, (size_t)(rest - phrases[i].text));
            strbuf_append(&message, json_text_or(extras, phrases[i].member, ""));
            strbuf_append(&message, rest + 2);
        }
        json_put_text(observation, "message", message.text);
        return;
    }
    json_put_text(observation, "message", content);
}

json_t *legacy_reply(const char *type, const char *content, size_t len, json_t *extras)
{
    json_t *observation = json_object();

    json_put_text(observation, "observation", type);
    json_put(observation, "content", json_text(content, len));
    json_put(observation, "extras", extras);
    put_message(observation, type, content);
    return observation;
}

json_t *legacy_reply_error(const char *content)
{
    json_t *extras = json_object();

    json_put_text(extras, "error_id", "");
    return legacy_reply("error", content, strlen(content), extras);
}

/* All eight members; unknown ones are null. */
static json_t *run_metadata(const json_t *terminal)
{
    static const char *const members[] = {"exit_code", "pid",         "username",
                                          "hostname",  "working_dir", "py_interpreter_path",
                                          "prefix",    "suffix"};
    const json_t *known = json_object_get(terminal, "metadata");
    json_t *metadata = json_object();

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        json_t *value = json_object_get(known, members[i]);

        json_put(metadata, members[i], value != NULL ? json_incref(value) : json_null());
    }
    return metadata;
}

static json_t *run_observation(const json_t *args, const json_t *terminal, const char *content)
{
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    json_int_t code = json_int_or(terminal, "exit_code", -1);
    const char *command = json_text_or(args, "command", "");
    json_t *extras = json_object();
    json_t *observation = NULL;

    json_put_text(extras, "command", command);
    json_put(extras, "hidden", json_boolean(json_bool_or(args, "hidden", 0)));
    json_put(extras, "metadata", run_metadata(terminal));
    observation = legacy_reply("run", content, strlen(content), extras);
    strbuf_appendf(&message, "Command `%s` executed with exit code %lld.", command,
                   (long long)code);
    json_put_text(observation, "message", message.text);
    json_put(observation, "success", json_boolean(code == 0));
    return observation;
}

json_t *legacy_reply_run(const json_t *args, const json_t *terminal)
{
    CLEANUP(strbuf_done) struct strbuf refusal = STRBUF_INIT;
    const json_t *part = json_array_get(json_object_get(terminal, "content"), 0);
    const char *text = json_text_or(part, "text", "");

    if (json_object_get(terminal, "exit_code") != NULL)
        return run_observation(args, terminal, text);
    strbuf_appendf(&refusal, "ERROR: %s", text);
    if (text_starts_with(text, "Cannot execute multiple commands"))
        return legacy_reply_error(refusal.text);
    return run_observation(args, terminal, refusal.text);
}

void legacy_reply_answer_failure(struct server_request *request, const char *why)
{
    CLEANUP(strbuf_done) struct strbuf detail = STRBUF_INIT;

    strbuf_appendf(&detail, "Internal server error: %s", why);
    server_request_answer_detail(request, 500, detail.text);
}

void legacy_reply_answer_invalid(struct server_request *request, const char *why)
{
    json_auto_t *body = json_object();

    json_put_text(body, "detail", "Invalid request parameters");
    json_put_text(body, "errors", why);
    server_request_answer_json(request, 422, body);
}
