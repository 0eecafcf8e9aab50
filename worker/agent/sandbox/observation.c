#include "worker/agent/sandbox/observation.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/event/event.h"
#include "model/limits.h"

/* Size of the event's other members: ids, names, time. */
#define EVENT_MARGIN_BYTES 4000

enum member_type { MEMBER_TEXT, MEMBER_INTEGER, MEMBER_BOOLEAN };

struct member {
    const char *kind; /* of the observation; metadata: of its nested object */
    const char *name;
    enum member_type type;
};

static const struct member members[] = {
    {"TerminalObservation", "command", MEMBER_TEXT},
    {"TerminalObservation", "exit_code", MEMBER_INTEGER},
    {"TerminalObservation", "timeout", MEMBER_BOOLEAN},
    {"TerminalObservation", "full_output_save_dir", MEMBER_TEXT},
    {"FileEditorObservation", "command", MEMBER_TEXT},
    {"FileEditorObservation", "path", MEMBER_TEXT},
    {"FileEditorObservation", "prev_exist", MEMBER_BOOLEAN},
    {"FileEditorObservation", "old_content", MEMBER_TEXT},
    {"FileEditorObservation", "new_content", MEMBER_TEXT},
    {"BrowserObservation", "screenshot_data", MEMBER_TEXT},
    {"BrowserObservation", "full_output_save_dir", MEMBER_TEXT},
    {"metadata", "exit_code", MEMBER_INTEGER},
    {"metadata", "pid", MEMBER_INTEGER},
    {"metadata", "username", MEMBER_TEXT},
    {"metadata", "hostname", MEMBER_TEXT},
    {"metadata", "working_dir", MEMBER_TEXT},
    {"metadata", "py_interpreter_path", MEMBER_TEXT},
    {"metadata", "prefix", MEMBER_TEXT},
    {"metadata", "suffix", MEMBER_TEXT},
};

static bool has_type(const json_t *value, enum member_type type)
{
    switch (type) {
    case MEMBER_TEXT:
        return json_is_string(value);
    case MEMBER_INTEGER:
        return json_is_integer(value);
    case MEMBER_BOOLEAN:
        return json_is_boolean(value);
    }
    return false;
}

/* Copies the known members of that kind; drops unknown ones and those of the wrong type. */
static void copy_members(json_t *to, const json_t *from, const char *kind)
{
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        json_t *value = json_object_get(from, members[i].name);

        if (text_equal(members[i].kind, kind) && has_type(value, members[i].type))
            json_put(to, members[i].name, json_incref(value));
    }
}

static void copy_metadata(json_t *to, const json_t *from)
{
    const json_t *metadata = json_object_get(from, "metadata");
    json_t *copy = NULL;

    if (!json_is_object(metadata))
        return;
    copy = json_object();
    copy_members(copy, metadata, "metadata");
    json_put(to, "metadata", copy);
}

/* The size of the compact text, computed without building it. */
static size_t json_size(const json_t *json)
{
    return json_dumpb(json, NULL, 0, JSON_COMPACT);
}

/*
 * Drops contents and screenshots if necessary: a client shows an edit as a diff only if it has both
 * contents, and without these members it shows the text.
 */
static int fit_into_event(json_t *observation, struct error *err)
{
    size_t most = EVENT_MAX_BYTES - EVENT_MARGIN_BYTES;

    if (json_size(observation) <= most)
        return 0;
    (void)json_object_del(observation, "old_content");
    (void)json_object_del(observation, "new_content");
    (void)json_object_del(observation, "screenshot_data");
    if (json_size(observation) > most)
        return error_set(err, ERROR_TOO_LARGE, "the tool's result is larger than %zu bytes", most);
    return 0;
}

int observation_from_sandbox(json_t *reply, const char *kind, json_t **observation_out,
                             struct error *err)
{
    json_auto_t *observation = json_object();
    json_t *content = NULL;
    json_t *parts = json_object_get(reply, "content");

    if (!text_equal(json_text_or(reply, "kind", ""), kind) || parts == NULL)
        return error_set(err, ERROR_INVALID, "the sandbox's reply is not a %s", kind);
    if (content_read(parts, &content, err) < 0)
        return error_wrap(err, "the sandbox's %s", kind);
    json_put(observation, "content", content);
    json_put(observation, "is_error", json_boolean(json_bool_or(reply, "is_error", 0)));
    copy_members(observation, reply, kind);
    if (text_equal(kind, "TerminalObservation"))
        copy_metadata(observation, reply);
    json_put_text(observation, "kind", kind);
    if (fit_into_event(observation, err) < 0)
        return -1;
    *observation_out = TAKE_PTR(observation);
    return 0;
}

json_t *observation_from_text(const char *kind, const char *text)
{
    json_t *observation = json_object();
    json_t *content = json_array();

    json_push(content, text_content(text));
    json_put(observation, "content", content);
    json_put(observation, "is_error", json_false());
    json_put_text(observation, "kind", kind);
    return observation;
}
