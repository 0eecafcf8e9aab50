#include "worker/agent/sandbox/observation.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "model/tools/mcp_tools.h"

/* Size of the event's other members: ids, names, time. */
#define EVENT_MARGIN_BYTES 4000

enum member_type {
    MEMBER_TEXT,
    MEMBER_INTEGER,
    MEMBER_BOOLEAN,
    MEMBER_TEXTS,   /* a list */
    MEMBER_OBJECTS, /* a list */
    MEMBER_RANGE,   /* two integers */
    MEMBER_TIME,    /* YYYY-MM-DDTHH:MM:SS */
    MEMBER_CHANGE_TYPE,
};

/* Clients refuse an observation of that kind without its required members. */
enum member_need { OPTIONAL, REQUIRED };

struct member {
    const char *kind; /* of the observation; else the name of a nested object */
    const char *name;
    enum member_type type;
    enum member_need need;
};

#define ENTRY "entry"       /* of ListDirectoryObservation.entries */
#define CHANGE "change"     /* of ApplyPatchObservation.commit.changes */
#define METADATA "metadata" /* of TerminalObservation */

static const struct member members[] = {
    {"TerminalObservation", "command", MEMBER_TEXT, OPTIONAL},
    {"TerminalObservation", "exit_code", MEMBER_INTEGER, OPTIONAL},
    {"TerminalObservation", "timeout", MEMBER_BOOLEAN, OPTIONAL},
    {"TerminalObservation", "full_output_save_dir", MEMBER_TEXT, OPTIONAL},
    {"FileEditorObservation", "command", MEMBER_TEXT, OPTIONAL},
    {"FileEditorObservation", "path", MEMBER_TEXT, OPTIONAL},
    {"FileEditorObservation", "prev_exist", MEMBER_BOOLEAN, OPTIONAL},
    {"FileEditorObservation", "old_content", MEMBER_TEXT, OPTIONAL},
    {"FileEditorObservation", "new_content", MEMBER_TEXT, OPTIONAL},
    {"BrowserObservation", "screenshot_data", MEMBER_TEXT, OPTIONAL},
    {"BrowserObservation", "full_output_save_dir", MEMBER_TEXT, OPTIONAL},
    {"GlobObservation", "files", MEMBER_TEXTS, REQUIRED},
    {"GlobObservation", "pattern", MEMBER_TEXT, REQUIRED},
    {"GlobObservation", "search_path", MEMBER_TEXT, REQUIRED},
    {"GlobObservation", "truncated", MEMBER_BOOLEAN, OPTIONAL},
    {"GrepObservation", "matches", MEMBER_TEXTS, REQUIRED},
    {"GrepObservation", "pattern", MEMBER_TEXT, REQUIRED},
    {"GrepObservation", "search_path", MEMBER_TEXT, REQUIRED},
    {"GrepObservation", "include_pattern", MEMBER_TEXT, OPTIONAL},
    {"GrepObservation", "truncated", MEMBER_BOOLEAN, OPTIONAL},
    {"ReadFileObservation", "file_path", MEMBER_TEXT, REQUIRED},
    {"ReadFileObservation", "file_content", MEMBER_TEXT, OPTIONAL},
    {"ReadFileObservation", "is_truncated", MEMBER_BOOLEAN, OPTIONAL},
    {"ReadFileObservation", "lines_shown", MEMBER_RANGE, OPTIONAL},
    {"ReadFileObservation", "total_lines", MEMBER_INTEGER, OPTIONAL},
    {"WriteFileObservation", "file_path", MEMBER_TEXT, OPTIONAL},
    {"WriteFileObservation", "is_new_file", MEMBER_BOOLEAN, OPTIONAL},
    {"WriteFileObservation", "old_content", MEMBER_TEXT, OPTIONAL},
    {"WriteFileObservation", "new_content", MEMBER_TEXT, OPTIONAL},
    {"EditObservation", "file_path", MEMBER_TEXT, OPTIONAL},
    {"EditObservation", "is_new_file", MEMBER_BOOLEAN, OPTIONAL},
    {"EditObservation", "replacements_made", MEMBER_INTEGER, OPTIONAL},
    {"EditObservation", "old_content", MEMBER_TEXT, OPTIONAL},
    {"EditObservation", "new_content", MEMBER_TEXT, OPTIONAL},
    {"ListDirectoryObservation", "dir_path", MEMBER_TEXT, OPTIONAL},
    {"ListDirectoryObservation", "total_count", MEMBER_INTEGER, OPTIONAL},
    {"ListDirectoryObservation", "is_truncated", MEMBER_BOOLEAN, OPTIONAL},
    {"CheckpointObservation", "before", MEMBER_TEXT, OPTIONAL},
    {"CheckpointObservation", "n_written", MEMBER_INTEGER, OPTIONAL},
    {"CheckpointObservation", "n_removed", MEMBER_INTEGER, OPTIONAL},
    {"HookObservation", "exit_code", MEMBER_INTEGER, OPTIONAL},
    {"HookObservation", "stdout", MEMBER_TEXT, OPTIONAL},
    {"HookObservation", "stderr", MEMBER_TEXT, OPTIONAL},
    {"HookObservation", "error", MEMBER_TEXT, OPTIONAL},
    {"ApplyPatchObservation", "message", MEMBER_TEXT, OPTIONAL},
    {"ApplyPatchObservation", "fuzz", MEMBER_INTEGER, OPTIONAL},
    {MCP_OBSERVATION_KIND, "tool_name", MEMBER_TEXT, REQUIRED},
    {MCP_OBSERVATION_KIND, "error", MEMBER_TEXT, OPTIONAL},
    {MCP_OBSERVATION_KIND, "has_changed_tools", MEMBER_BOOLEAN, OPTIONAL},
    {MCP_LIST_OBSERVATION_KIND, "tools", MEMBER_OBJECTS, OPTIONAL},
    {MCP_LIST_OBSERVATION_KIND, "error", MEMBER_TEXT, OPTIONAL},
    {ENTRY, "name", MEMBER_TEXT, REQUIRED},
    {ENTRY, "path", MEMBER_TEXT, REQUIRED},
    {ENTRY, "is_directory", MEMBER_BOOLEAN, REQUIRED},
    {ENTRY, "size", MEMBER_INTEGER, REQUIRED},
    {ENTRY, "modified_time", MEMBER_TIME, REQUIRED},
    {CHANGE, "type", MEMBER_CHANGE_TYPE, REQUIRED},
    {CHANGE, "old_content", MEMBER_TEXT, OPTIONAL},
    {CHANGE, "new_content", MEMBER_TEXT, OPTIONAL},
    {CHANGE, "move_path", MEMBER_TEXT, OPTIONAL},
    {METADATA, "exit_code", MEMBER_INTEGER, OPTIONAL},
    {METADATA, "pid", MEMBER_INTEGER, OPTIONAL},
    {METADATA, "username", MEMBER_TEXT, OPTIONAL},
    {METADATA, "hostname", MEMBER_TEXT, OPTIONAL},
    {METADATA, "working_dir", MEMBER_TEXT, OPTIONAL},
    {METADATA, "py_interpreter_path", MEMBER_TEXT, OPTIONAL},
    {METADATA, "prefix", MEMBER_TEXT, OPTIONAL},
    {METADATA, "suffix", MEMBER_TEXT, OPTIONAL},
};

static bool are_texts(const json_t *value)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (value, i, item) {
        if (!json_is_string(item))
            return false;
    }
    return json_is_array(value);
}

static bool are_objects(const json_t *value)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (value, i, item) {
        if (!json_is_object(item))
            return false;
    }
    return json_is_array(value);
}

static bool is_range(const json_t *value)
{
    return json_array_size(value) == 2 && json_is_integer(json_array_get(value, 0)) &&
           json_is_integer(json_array_get(value, 1));
}

static bool is_time(const json_t *value)
{
    const char *text = json_string_value(value);
    struct tm parts;
    const char *end = text != NULL ? strptime(text, "%Y-%m-%dT%H:%M:%S", &parts) : NULL;

    return end != NULL && *end == '\0' && strlen(text) == strlen("YYYY-MM-DDTHH:MM:SS") &&
           strspn(text, "0123456789-T:") == strlen(text) && parts.tm_sec < 60;
}

static bool is_change_type(const json_t *value)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";

    return text_equal(text, "add") || text_equal(text, "delete") || text_equal(text, "update");
}

static bool has_type(const json_t *value, enum member_type type)
{
    switch (type) {
    case MEMBER_TEXT:
        return json_is_string(value);
    case MEMBER_INTEGER:
        return json_is_integer(value);
    case MEMBER_BOOLEAN:
        return json_is_boolean(value);
    case MEMBER_TEXTS:
        return are_texts(value);
    case MEMBER_OBJECTS:
        return are_objects(value);
    case MEMBER_RANGE:
        return is_range(value);
    case MEMBER_TIME:
        return is_time(value);
    case MEMBER_CHANGE_TYPE:
        return is_change_type(value);
    }
    return false;
}

/*
 * Copies the known members of that kind; drops unknown ones and those of the wrong type. False if a
 * required one is missing.
 */
static bool copy_members(json_t *to, const json_t *from, const char *kind)
{
    bool is_whole = true;

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        json_t *value = json_object_get(from, members[i].name);

        if (!text_equal(members[i].kind, kind))
            continue;
        if (has_type(value, members[i].type))
            json_put(to, members[i].name, json_incref(value));
        else
            is_whole = is_whole && members[i].need == OPTIONAL;
    }
    return is_whole;
}

/* What a failed call could not say. */
static void complete(json_t *observation, const char *kind)
{
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        if (!text_equal(members[i].kind, kind) || members[i].need == OPTIONAL ||
            json_object_get(observation, members[i].name) != NULL)
            continue;
        json_put(observation, members[i].name,
                 members[i].type == MEMBER_TEXTS ? json_array() : json_text_of(""));
    }
}

static void copy_entries(json_t *to, const json_t *from)
{
    const json_t *entries = json_object_get(from, "entries");
    json_t *copies = json_array();
    const json_t *entry = NULL;
    size_t i = 0;

    json_array_foreach (entries, i, entry) {
        json_t *copy = json_object();

        if (copy_members(copy, entry, ENTRY))
            json_push(copies, json_incref(copy));
        json_decref(copy);
    }
    json_put(to, "entries", copies);
}

static void copy_commit(json_t *to, const json_t *from)
{
    json_t *changes = json_object_get(json_object_get(from, "commit"), "changes");
    json_t *copies = NULL;
    json_t *commit = NULL;
    const char *path = NULL;
    json_t *change = NULL;

    if (!json_is_object(changes))
        return;
    copies = json_object();
    json_object_foreach (changes, path, change) {
        json_t *copy = json_object();

        if (copy_members(copy, change, CHANGE))
            json_put(copies, path, json_incref(copy));
        json_decref(copy);
    }
    commit = json_object();
    json_put(commit, "changes", copies);
    json_put(to, "commit", commit);
}

static void copy_metadata(json_t *to, const json_t *from)
{
    const json_t *metadata = json_object_get(from, METADATA);
    json_t *copy = NULL;

    if (!json_is_object(metadata))
        return;
    copy = json_object();
    (void)copy_members(copy, metadata, METADATA);
    json_put(to, METADATA, copy);
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
    (void)json_object_del(observation, "file_content");
    (void)json_object_del(observation, "commit");
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
    if (!copy_members(observation, reply, kind))
        complete(observation, kind);
    if (text_equal(kind, "TerminalObservation"))
        copy_metadata(observation, reply);
    if (text_equal(kind, "ListDirectoryObservation"))
        copy_entries(observation, reply);
    if (text_equal(kind, "ApplyPatchObservation"))
        copy_commit(observation, reply);
    json_put_text(observation, "kind", kind);
    /* A list is stored in the specification, by limits of its own. */
    if (!text_equal(kind, MCP_LIST_OBSERVATION_KIND) && fit_into_event(observation, err) < 0)
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
