#include "model/tools/project_servers.h"

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "model/plugins/project_files.h"
#include "model/plugins/project_skills.h"
#include "model/tools/mcp_config.h"
#include "unit/model/model_test.h"

/* Two servers, as they are found, with what clients see of them. */
static json_t *two_found(const char *digest_of_a)
{
    json_t *found = json_of(
        "{'a': {'server': {'command': 'run', 'args': ['it'], 'env': {'KEY': '${KEY:-x} $OTHER'},"
        " 'cwd': '/w'}, 'source': '/w/.mcp.json'},"
        " 'b': {'server': {'url': 'https://b', 'headers': {'X': '$KEY $1'},"
        " 'auth': {'strategy': 'bearer', 'value': '${TOKEN}'}}, 'source': '/w/s/.mcp.json',"
        " 'digest': 'db'}}");
    const char *name = NULL;
    json_t *entry = NULL;

    json_put_text(json_object_get(found, "a"), "digest", digest_of_a);
    json_object_foreach (found, name, entry)
        json_put(entry, "shown", project_servers_show(name, entry));
    return found;
}

static json_t *spec_with(json_t *found)
{
    json_t *spec = json_of("{'agent': {'mcp_config': {'own': {'url': 'https://own'}}}}");

    project_servers_set(spec, found);
    return spec;
}

static void clients_see_what_they_consent_to(void **state)
{
    json_auto_t *found = two_found("da");
    json_auto_t *spec = spec_with(found);
    json_auto_t *value = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(project_servers_consent(spec, "b", "db", &err), 0);
    value = project_servers_event_value(spec);
    assert_json_is(
        value, "{'project_mcp_servers': [{'name': 'a', 'digest': 'da', 'source': '/w/.mcp.json',"
               " 'command': ['run', 'it'], 'cwd': '/w', 'env': ['KEY'], 'headers': [],"
               " 'secrets': ['KEY', 'OTHER'], 'is_consented': false},"
               " {'name': 'b', 'digest': 'db', 'source': '/w/s/.mcp.json', 'url': 'https://b',"
               " 'env': [], 'headers': ['X'], 'auth': 'bearer', 'secrets': ['KEY', 'TOKEN'],"
               " 'is_consented': true}]}");
}

/* A file could hide one that matters after many that do not exist. */
static void all_secrets_of_a_server_are_shown(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *entry = json_of("{'server': {'command': 'run'}}");
    json_auto_t *shown = NULL;

    (void)state;
    for (int i = 0; i < 1000; i++)
        strbuf_appendf(&text, "$A%d", i);
    strbuf_append(&text, "$GITHUB_TOKEN");
    json_put_text(json_object_get(entry, "server"), "cwd", text.text);
    shown = project_servers_show("a", entry);
    assert_int_equal(json_array_size(json_object_get(shown, "secrets")), 1001);
    assert_string_equal(json_string_value(json_array_get(json_object_get(shown, "secrets"), 1000)),
                        "GITHUB_TOKEN");
}

static void agent_gets_servers_with_a_consent_only(void **state)
{
    json_auto_t *found = two_found("da");
    json_auto_t *spec = spec_with(found);
    json_auto_t *before = mcp_servers_of(spec);
    json_auto_t *after = NULL;
    json_auto_t *digests = NULL;
    json_auto_t *withdrawn = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_json_is(before, "{'own': {'url': 'https://own'}}");
    assert_int_equal(project_servers_consent(spec, "a", "da", &err), 0);
    after = mcp_servers_of(spec);
    assert_int_equal(json_object_size(after), 2);
    assert_json_is(json_object_get(json_object_get(after, "a"), "args"), "['it']");
    assert_true(mcp_server_is_own(spec, "own"));
    assert_false(mcp_server_is_own(spec, "a"));
    digests = project_servers_digests(spec);
    assert_json_is(digests, "{'a': 'da'}");
    project_servers_withdraw(spec, "a");
    project_servers_withdraw(spec, "none");
    withdrawn = mcp_servers_of(spec);
    assert_json_is(withdrawn, "{'own': {'url': 'https://own'}}");
}

static void consent_is_to_what_is_there(void **state)
{
    json_auto_t *found = two_found("da");
    json_auto_t *spec = spec_with(found);
    json_auto_t *bare = json_of("{}");
    json_auto_t *servers = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(project_servers_consent(spec, "c", "da", &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(project_servers_consent(bare, "a", "da", &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(project_servers_consent(spec, "a", "db", &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(project_servers_consent(spec, "a", "", &err), -1);
    servers = project_servers_consented(spec);
    assert_json_is(servers, "{}");
}

/* A server that has changed asks again, also when it changes back; the other one stays. */
static void changed_server_loses_its_consent(void **state)
{
    static const char *const digests[] = {"changed", "da"};
    json_auto_t *found = two_found("da");
    json_auto_t *spec = spec_with(found);
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(project_servers_consent(spec, "a", "da", &err), 0);
    assert_int_equal(project_servers_consent(spec, "b", "db", &err), 0);
    assert_true(project_servers_are(spec, found));
    for (size_t i = 0; i < ARRAY_SIZE(digests); i++) {
        json_auto_t *changed = two_found(digests[i]);
        json_auto_t *now = NULL;

        assert_false(project_servers_are(spec, changed));
        project_servers_set(spec, changed);
        now = project_servers_digests(spec);
        assert_json_is(now, "{'b': 'db'}");
    }
}

static void servers_that_are_gone_are_forgotten(void **state)
{
    json_auto_t *found = two_found("da");
    json_auto_t *none = json_object();
    json_auto_t *spec = spec_with(found);
    json_auto_t *bare = json_of("{}");
    json_auto_t *digests = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(project_servers_consent(spec, "a", "da", &err), 0);
    assert_false(project_servers_are(spec, none));
    project_servers_set(spec, none);
    assert_true(project_servers_were_found(spec));
    assert_true(project_servers_are(spec, none));
    project_servers_set(spec, found);
    digests = project_servers_digests(spec);
    assert_json_is(digests, "{}");
    assert_true(project_servers_are(bare, none));
    project_servers_set(bare, none);
    assert_json_is(bare, "{}");
    assert_false(project_servers_were_found(bare));
}

static void copy_has_no_consents(void **state)
{
    json_auto_t *found = two_found("da");
    json_auto_t *spec = spec_with(found);
    json_auto_t *bare = json_of("{}");
    json_auto_t *digests = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(project_servers_consent(spec, "a", "da", &err), 0);
    project_servers_withdraw_all(spec);
    project_servers_withdraw_all(bare);
    digests = project_servers_digests(spec);
    assert_json_is(digests, "{}");
    assert_true(project_servers_were_found(spec));
    assert_json_is(bare, "{}");
}

/* Numbers of places: the user's come before the project's. */
static void files_are_read_as_far_as_the_agent_wants(void **state)
{
    static const struct {
        const char *context;
        const char *found; /* names */
        size_t n_places;
    } cases[] = {
        {"'load_project_skills': true, 'load_user_skills': true", "{'u': 1, 'p': 1}", 6},
        {"'load_project_skills': true", "{'p': 1}", 6},
        {"'load_user_skills': true", "{'u': 1}", 3},
        {"'load_memory': true", "{}", 3},
    };
    json_auto_t *reply = json_of("{'files': [5, {'place': 0, 'path': '/root/.mcp.json',"
                                 " 'text': '{\\\"u\\\": {\\\"command\\\": \\\"x\\\"}}'}, {'place': "
                                 "4, 'path': '/w/a/.mcp.json',"
                                 " 'text': '{\\\"p\\\": {\\\"command\\\": \\\"x\\\"}, \\\"own\\\": "
                                 "{\\\"command\\\": \\\"x\\\"}}'},"
                                 " {'place': 6, 'path': '/w/.mcp.json', 'text': '{}'}]}");

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(strbuf_done) struct strbuf request = STRBUF_INIT;
        json_auto_t *json = NULL;
        json_auto_t *body = NULL;
        json_auto_t *found = NULL;
        json_auto_t *expected = json_of(cases[i].found);
        const char *name = NULL;
        json_t *entry = NULL;

        strbuf_appendf(&request,
                       "{'workspace': {'working_dir': '/w'}, 'agent': {'llm': {'model': 'm'},"
                       " 'mcp_config': {'own': {'url': 'https://own'}}, 'agent_context': {%s}}}",
                       cases[i].context);
        json = json_of(request.text);
        start_conversation(json, &conversation, NULL);
        body = project_servers_request(&conversation);
        assert_int_equal(json_array_size(json_object_get(body, "places")), cases[i].n_places);
        found = project_servers_find(&conversation, reply);
        assert_int_equal(json_object_size(found), json_object_size(expected));
        json_object_foreach (found, name, entry)
            assert_non_null(json_object_get(expected, name));
    }
}

static void places_name_servers(void **state)
{
    (void)state;
    for (size_t i = 0; i < server_places_n; i++)
        assert_int_equal(server_places[i].form, FORM_SERVERS);
    for (size_t i = 0; i < knowledge_places_n; i++)
        assert_int_equal(skill_places[i].form == FORM_SERVERS,
                         &skill_places[i] >= server_places &&
                             &skill_places[i] < server_places + server_places_n);
}

int project_servers_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_see_what_they_consent_to),
        cmocka_unit_test(all_secrets_of_a_server_are_shown),
        cmocka_unit_test(agent_gets_servers_with_a_consent_only),
        cmocka_unit_test(consent_is_to_what_is_there),
        cmocka_unit_test(changed_server_loses_its_consent),
        cmocka_unit_test(servers_that_are_gone_are_forgotten),
        cmocka_unit_test(copy_has_no_consents),
        cmocka_unit_test(files_are_read_as_far_as_the_agent_wants),
        cmocka_unit_test(places_name_servers),
    };

    return cmocka_run_group_tests_name("model/project_servers", tests, NULL, NULL);
}
