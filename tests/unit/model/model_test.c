#include "unit/model/model_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/schema/validation_error.h"
#include "model/tools/tool_call.h"
#include "model/tools/toolset.h"
#include "unit/support/test_catalogue.h"

#define GOLDEN_DIR DEFT_TEST_DATA "/golden/"

enum { GOLDEN_MAX_BYTES = 1 << 20 };

json_t *json_of(const char *text)
{
    CLEANUP(mem_freep) char *copy = mem_dup_text(text);
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    for (char *p = copy; *p != '\0'; p++) {
        if (*p == '\'')
            *p = '"';
    }
    if (json_parse(copy, strlen(copy), &json, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    return json;
}

json_t *golden(const char *name)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    strbuf_appendf(&path, "%s%s", GOLDEN_DIR, name);
    if (file_read(path.text, GOLDEN_MAX_BYTES, &text, &err) < 0 ||
        json_parse(text.text, text.len, &json, &err) < 0)
        fail_msg("%s: %s", name, err.message);
    return json;
}

static const struct conversation_defaults defaults = {RUNTIME_LOCAL, "scripted/hello", NULL, false};

void start_conversation(json_t *request, struct conversation *conversation_out,
                        json_t **secrets_out)
{
    CLEANUP(secret_done) struct secret secrets = SECRET_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *content = NULL;
    json_auto_t *problems = NULL;
    const char *text = NULL;

    if (conversation_from_request(request, &defaults, conversation_out, &secrets, &content,
                                  &problems, &err) < 0)
        fail_msg("%s", json_dumps(problems, 0));
    text = secret_reveal(&secrets);
    if (secrets_out != NULL && json_parse(text, strlen(text), secrets_out, &err) < 0)
        fail_msg("%s", err.message);
}

void start_default(struct conversation *conversation_out)
{
    json_auto_t *request =
        json_of("{'workspace': {'working_dir': '/workspace/project'}, 'agent_settings': {}}");

    start_conversation(request, conversation_out, NULL);
}

json_t *functions_of(const struct conversation *conversation)
{
    CLEANUP(toolset_freep) struct toolset *tools = toolset_new(test_catalogue(), conversation);

    return toolset_functions(tools);
}

json_t *definitions_of(const struct conversation *conversation)
{
    CLEANUP(toolset_freep) struct toolset *tools = toolset_new(test_catalogue(), conversation);

    return toolset_definitions(tools);
}

void check_call_of(const struct conversation *conversation, const char *name, const char *arguments,
                   struct tool_call_check *check_out)
{
    CLEANUP(toolset_freep) struct toolset *tools = toolset_new(test_catalogue(), conversation);

    tool_call_check(tools, name, arguments, check_out);
}

json_t *refusal_of(const char *text)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(secret_done) struct secret secrets = SECRET_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *request = json_of(text);
    json_auto_t *content = NULL;
    json_t *problems = NULL;

    assert_int_equal(conversation_from_request(request, &defaults, &conversation, &secrets,
                                               &content, &problems, &err),
                     -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_null(conversation.spec);
    assert_null(content);
    return problems;
}

const char *problem_at(json_t *problems, const char *path)
{
    json_t *entry = NULL;
    size_t i = 0;

    json_array_foreach (problems, i, entry) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

        validation_error_append_text(entry, &text);
        if (text_starts_with(text.text, path) && text_starts_with(text.text + strlen(path), ": "))
            return json_string_value(json_object_get(entry, "type"));
    }
    fail_msg("no problem at %s in %s", path, json_dumps(problems, 0));
    return NULL;
}

static int type_class(const json_t *value)
{
    if (json_is_number(value))
        return JSON_INTEGER;
    return json_is_boolean(value) ? (int)JSON_TRUE : (int)json_typeof(value);
}

static void assert_members(json_t *ours, json_t *theirs, const char *where)
{
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach (ours, name, value) {
        if (json_object_get(theirs, name) == NULL)
            fail_msg("%s.%s is a member of ours alone", where, name);
    }
    json_object_foreach (theirs, name, value) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        strbuf_appendf(&path, "%s.%s", where, name);
        if (json_object_get(ours, name) == NULL)
            fail_msg("%s is missing", path.text);
        assert_same_schema(json_object_get(ours, name), value, path.text);
    }
}

void assert_same_schema(json_t *ours, json_t *theirs, const char *where)
{
    if (type_class(ours) != type_class(theirs))
        fail_msg("%s is of another type: %s, not %s", where, json_dumps(ours, JSON_ENCODE_ANY),
                 json_dumps(theirs, JSON_ENCODE_ANY));
    if (json_typeof(ours) == JSON_OBJECT)
        assert_members(ours, theirs, where);
    for (size_t i = 0; i < json_array_size(ours) && i < json_array_size(theirs); i++)
        assert_same_schema(json_array_get(ours, i), json_array_get(theirs, i), where);
}

void assert_json_equal(json_t *ours, json_t *theirs)
{
    CLEANUP(mem_freep) char *left = json_dumps(ours, JSON_ENCODE_ANY | JSON_SORT_KEYS);
    CLEANUP(mem_freep) char *right = json_dumps(theirs, JSON_ENCODE_ANY | JSON_SORT_KEYS);

    if (!json_equal(ours, theirs))
        assert_string_equal(left, right);
}

void assert_json_is(json_t *ours, const char *expected)
{
    json_auto_t *theirs = json_of(expected);

    assert_json_equal(ours, theirs);
}

/* For who changes what is listed. */
static void write_list(const char *ours, const char *file)
{
    FILE *out = fopen(file, "we");

    assert_non_null(out);
    assert_true(fputs(ours, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

void assert_is_listed(const char *ours, const char *file)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf listed = STRBUF_INIT;
    struct error err = ERROR_INIT;
    const char *line = NULL;

    strbuf_appendf(&path, "%s/%s", DEFT_TEST_DATA, file);
    if (file_read(path.text, GOLDEN_MAX_BYTES, &listed, &err) < 0)
        fail_msg("%s", err.message);
    line = listed.text;
    write_list(ours, file);
    while (*ours != '\0' || *line != '\0') {
        size_t our_len = strcspn(ours, "\n");
        size_t len = strcspn(line, "\n");

        if (our_len != len || strncmp(ours, line, len) != 0)
            fail_msg("'%.*s' is listed as '%.*s'; %s in the build folder is the new list",
                     (int)our_len, ours, (int)len, line, file);
        ours += our_len + (ours[our_len] == '\n');
        line += len + (line[len] == '\n');
    }
}

json_t *event_wire(const struct event *event)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    event_append_body(event, &text);
    if (json_parse(text.text, text.len, &json, &err) < 0)
        fail_msg("%s", err.message);
    return json;
}

char *event_order(const struct event_list *list)
{
    CLEANUP(strbuf_done) struct strbuf order = STRBUF_INIT;

    for (size_t i = 0; i < list->n; i++) {
        const json_t *json = list->items[i].json;
        const char *key = json_text_or(json, "key", NULL);

        if (i > 0)
            strbuf_append_char(&order, ' ');
        if (key == NULL)
            strbuf_append(&order, list->items[i].kind);
        else if (text_equal(key, "execution_status"))
            strbuf_appendf(&order, "%s=%s", key, json_text_or(json, "value", "?"));
        else
            strbuf_append(&order, key);
    }
    return strbuf_take(&order);
}

int main(void)
{
    int n_failed = 0;

    json_setup();
    n_failed += agent_profile_tests();
    n_failed += agent_spec_tests();
    n_failed += child_tests();
    n_failed += client_arguments_tests();
    n_failed += conversation_tests();
    n_failed += conversation_info_tests();
    n_failed += content_tests();
    n_failed += catalogue_tests();
    n_failed += event_builder_tests();
    n_failed += event_kind_tests();
    n_failed += error_class_tests();
    n_failed += event_tests();
    n_failed += event_text_tests();
    n_failed += goal_tests();
    n_failed += golden_tests();
    n_failed += hook_match_tests();
    n_failed += hook_verdict_tests();
    n_failed += hooks_tests();
    n_failed += mcp_config_tests();
    n_failed += mcp_file_tests();
    n_failed += mcp_listing_tests();
    n_failed += mcp_progress_tests();
    n_failed += mcp_tests();
    n_failed += mcp_tools_tests();
    n_failed += members_tests();
    n_failed += llm_switch_tests();
    n_failed += mask_escapes_tests();
    n_failed += masker_tests();
    n_failed += model_table_tests();
    n_failed += observation_tests();
    n_failed += openai_answer_tests();
    n_failed += openai_stream_tests();
    n_failed += openai_request_tests();
    n_failed += package_tests();
    n_failed += pattern_tests();
    n_failed += plan_tests();
    n_failed += preview_answer_tests();
    n_failed += preview_tests();
    n_failed += analyzer_spec_tests();
    n_failed += policy_tests();
    n_failed += progress_tests();
    n_failed += web_origin_tests();
    n_failed += prompt_form_tests();
    n_failed += knowledge_change_tests();
    n_failed += project_knowledge_tests();
    n_failed += project_servers_tests();
    n_failed += prompt_tests();
    n_failed += redact_tests();
    n_failed += repository_step_tests();
    n_failed += repository_tests();
    n_failed += secret_place_tests();
    n_failed += secret_tests();
    n_failed += risk_text_tests();
    n_failed += security_analyzer_tests();
    n_failed += settings_schema_tests();
    n_failed += settings_tests();
    n_failed += schema_tests();
    n_failed += skill_file_tests();
    n_failed += skill_member_tests();
    n_failed += skills_tests();
    n_failed += word_search_tests();
    n_failed += source_tests();
    n_failed += start_members_tests();
    n_failed += start_request_tests();
    n_failed += stats_tests();
    n_failed += status_tests();
    n_failed += sub_agents_tests();
    n_failed += task_tests();
    n_failed += title_tests();
    n_failed += webhook_tests();
    n_failed += resource_keys_tests();
    n_failed += tool_call_tests();
    n_failed += tool_list_tests();
    n_failed += tool_repair_tests();
    n_failed += tools_tests();
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
