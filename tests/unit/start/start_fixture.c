#include "unit/start/start_fixture.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/db/db.h"
#include "support/pg.h"
#include "support/test_catalogue.h"

enum { CONNECTIONS = 2 };

static const char ROOT[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

int start_set_up(void **state)
{
    CLEANUP(secret_done) struct secret root = SECRET_INIT;
    struct start_fixture *fixture = NEW(struct start_fixture);
    struct error err = ERROR_INIT;

    json_setup();
    secret_set(&root, ROOT);
    assert_done(keyring_init(&fixture->keyring, &root, &err), &err);
    fixture->context = (struct start_context){
        .catalogue = test_catalogue(),
        .keyring = &fixture->keyring,
        .defaults = {.model = "scripted/hello"},
        .llm = {"", "", ""},
        .limits = {{10, 100}, 1LL << 30, 2000000000},
        .caller = {.runtime_session = "u-test", .runtime_id = ""},
    };
    *state = fixture;
    return 0;
}

int start_set_up_with_db(void **state)
{
    struct start_fixture *fixture = NULL;
    struct start_context *context = NULL;

    (void)start_set_up(state);
    fixture = *state;
    context = &fixture->context;
    context->db = test_db_open(CONNECTIONS);
    context->caller.scope.user_id = test_user(context->db);
    return 0;
}

int start_tear_down(void **state)
{
    struct start_fixture *fixture = *state;

    db_free(fixture->context.db);
    mem_free(fixture);
    return 0;
}

struct start_context start_context_begin(void **state)
{
    const struct start_fixture *fixture = *state;
    struct start_context context = fixture->context;

    context.problems = json_array();
    return context;
}

void start_context_end(struct start_context *context)
{
    json_decref(context->problems);
}

struct start_context start_context_of_sandbox(void **state)
{
    struct start_context context = start_context_begin(state);

    context.caller.kind = START_BY_SANDBOX;
    context.caller.runtime_session = "c-test";
    context.caller.runtime_id = "abcdef0123456789";
    context.caller.scope.runtime_session = "c-test";
    return context;
}

json_t *start_json(const char *text)
{
    CLEANUP(mem_freep) char *quoted = mem_dup_text(text);
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    for (char *at = strchr(quoted, '\''); at != NULL; at = strchr(at, '\''))
        *at = '"';
    assert_done(json_parse(quoted, strlen(quoted), &json, &err), &err);
    return json;
}

json_t *start_body(const char *members)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_appendf(&text,
                   "{'workspace': {'working_dir': '/w'}, 'agent': {'kind': 'Agent', 'llm': "
                   "{'model': 'scripted/hello'}, 'tools': [{'name': 'terminal'}]}%s}",
                   members);
    return start_json(text.text);
}

void assert_done(int rc, const struct error *err)
{
    if (rc < 0)
        fail_msg("%s: %s", err->where, err->message);
}

void assert_problem(const struct start_context *context, const char *member)
{
    for (size_t i = 0; i < json_array_size(context->problems); i++) {
        const json_t *loc = json_object_get(json_array_get(context->problems, i), "loc");
        const json_t *last = json_array_get(loc, json_array_size(loc) - 1);

        if (json_is_string(last) && text_equal(json_string_value(last), member))
            return;
    }
    fail_msg("no problem was noted at %s", member);
}
