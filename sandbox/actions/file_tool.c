#include "sandbox/actions/file_tool.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_observation.h"
#include "sandbox/editor/apply_patch.h"
#include "sandbox/editor/text_tools.h"
#include "sandbox/search/search_tools.h"

static const struct file_tool {
    const char *name;
    const char *observation_kind;
    int (*run)(const json_t *args, const char *working_dir, json_t *facts, struct strbuf *words,
               struct error *err);
} tools[] = {
    {"glob", "GlobObservation", glob_tool_run},
    {"grep", "GrepObservation", grep_tool_run},
    {"read_file", "ReadFileObservation", read_file_tool_run},
    {"write_file", "WriteFileObservation", write_file_tool_run},
    {"edit", "EditObservation", edit_tool_run},
    {"list_directory", "ListDirectoryObservation", list_directory_tool_run},
    {"apply_patch", "ApplyPatchObservation", apply_patch_tool_run},
};

static const struct file_tool *find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
        if (text_equal(tools[i].name, name))
            return &tools[i];
    }
    return NULL;
}

bool file_tool_exists(const char *name)
{
    return find(name) != NULL;
}

static json_t *to_observation(const struct file_tool *tool, json_t *facts, const char *words,
                              size_t len)
{
    json_put(facts, "content", action_observation_content(words, len));
    json_put_text(facts, "kind", tool->observation_kind);
    return facts;
}

json_t *file_tool_failure(const char *tool, const char *why)
{
    json_t *facts = json_object();

    json_put(facts, "is_error", json_true());
    return to_observation(find(tool), facts, why, strlen(why));
}

json_t *file_tool_run(const void *what)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    const struct file_tool_call *call = what;
    const struct file_tool *tool = find(call->tool);
    json_t *facts = json_object();
    struct error err = ERROR_INIT;
    int rc = tool->run(call->args, call->working_dir, facts, &words, &err);

    if (rc < 0) {
        strbuf_reset(&words);
        strbuf_append(&words, err.message);
    }
    json_put(facts, "is_error", json_boolean(rc < 0));
    return to_observation(tool, facts, words.text, words.len);
}
