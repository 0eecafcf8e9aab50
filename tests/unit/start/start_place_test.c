/*
 * Where a conversation that is made from another one works. start_test.c has those of requests.
 */
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/limits.h"
#include "start/start.h"
#include "start/start_place.h"
#include "start/start_store.h"
#include "store/conversation/conversation_store.h"
#include "support/pg.h"
#include "unit/start/start_fixture.h"

/* A stored conversation with a sandbox of its own if `runtime` is docker. */
static void store_one(const struct start_context *context, const char *runtime,
                      const struct uuid *parent_id, struct conversation *conversation_out)
{
    CLEANUP(start_done) struct start start = START_INIT;
    json_auto_t *body = start_body("");
    enum start_outcome outcome = START_EXISTED;
    struct error err = ERROR_INIT;

    json_put_text(body, "conversation_runtime", runtime);
    if (parent_id != NULL)
        json_put_text(body, "parent_conversation_id", parent_id->text);
    assert_done(start_prepare(context, body, NULL, &start, &err), &err);
    assert_done(start_store(context, &start.plan, &outcome, &err), &err);
    assert_int_equal(outcome, START_STORED);
    *conversation_out = start.plan.conversation;
    start.plan.conversation = (struct conversation)CONVERSATION_INIT;
}

static void a_child_shares_the_sandbox_of_its_parent(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(conversation_done) struct conversation parent = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
    struct error err = ERROR_INIT;

    store_one(&context, "docker", NULL, &parent);
    child.id = uuid_random();
    child.runtime_kind = RUNTIME_DOCKER;
    /* A run repeats it while the database is away. */
    for (int i = 0; i < 2; i++)
        assert_done(start_place_child(&context, &parent, &child, &err), &err);
    assert_string_equal(child.user_id.text, context.caller.scope.user_id.text);
    assert_string_equal(child.parent_id.text, parent.id.text);
    assert_int_equal(child.runtime_kind, RUNTIME_LOCAL);
    assert_string_equal(child.runtime_session, parent.runtime_session);
}

static void a_child_below_the_deepest_is_refused(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    struct uuid parent_id = UUID_INIT;

    for (int depth = 0; depth <= CHILD_DEPTH_MAX; depth++) {
        CLEANUP(conversation_done) struct conversation parent = CONVERSATION_INIT;
        CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
        struct error err = ERROR_INIT;

        store_one(&context, "local", depth > 0 ? &parent_id : NULL, &parent);
        parent_id = parent.id;
        if (depth < CHILD_DEPTH_MAX) {
            assert_done(start_place_child(&context, &parent, &child, &err), &err);
            continue;
        }
        assert_int_equal(start_place_child(&context, &parent, &child, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

static void a_copy_has_a_sandbox_like_its_sources(void **state)
{
    static const struct {
        enum runtime_kind source;
        enum start_caller_kind caller;
        enum runtime_kind copy;
    } cases[] = {
        {RUNTIME_LOCAL, START_BY_USER, RUNTIME_LOCAL},
        {RUNTIME_DOCKER, START_BY_USER, RUNTIME_DOCKER},
        {RUNTIME_LOCAL, START_BY_SANDBOX, RUNTIME_LOCAL},
        {RUNTIME_DOCKER, START_BY_SANDBOX, RUNTIME_LOCAL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
        CLEANUP(conversation_done) struct conversation source = CONVERSATION_INIT;
        CLEANUP(conversation_done) struct conversation copy = CONVERSATION_INIT;

        source.id = uuid_random();
        source.user_id = context.caller.scope.user_id;
        source.runtime_kind = cases[i].source;
        source.runtime_session = mem_dup_text("c-source");
        copy.id = uuid_random();
        context.caller.kind = cases[i].caller;
        start_place_copy(&context, &source, &copy);
        assert_string_equal(copy.user_id.text, source.user_id.text);
        assert_int_equal(copy.runtime_kind, cases[i].copy);
        assert_int_equal(text_equal(copy.runtime_session, "c-source"),
                         cases[i].copy == RUNTIME_LOCAL);
    }
}

static void a_copy_apart_has_a_sandbox_of_its_own(void **state)
{
    static const enum runtime_kind sources[] = {RUNTIME_LOCAL, RUNTIME_DOCKER};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
        CLEANUP(conversation_done) struct conversation source = CONVERSATION_INIT;
        CLEANUP(conversation_done) struct conversation copy = CONVERSATION_INIT;

        source.user_id = uuid_random();
        source.runtime_kind = sources[i];
        source.runtime_session = mem_dup_text("c-source");
        copy.id = uuid_random();
        start_place_copy_apart(&source, &copy);
        assert_string_equal(copy.user_id.text, source.user_id.text);
        assert_int_equal(copy.runtime_kind, RUNTIME_DOCKER);
        assert_string_not_equal(copy.runtime_session, "c-source");
    }
}

/* As a client asks for it: the code of the refusal. */
static enum error_code start_below(const struct start_context *context,
                                   const struct uuid *parent_id, const char *folder)
{
    CLEANUP(start_done) struct start start = START_INIT;
    json_auto_t *body = start_body("");
    struct error err = ERROR_INIT;

    json_put_text(json_object_get(body, "workspace"), "working_dir", folder);
    json_put_text(body, "parent_conversation_id", parent_id->text);
    return start_prepare(context, body, NULL, &start, &err) == 0 ? ERROR_NONE : err.code;
}

static void requested_child_is_below_ones_own_in_the_same_folder(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_context_end) struct start_context other = start_context_begin(state);
    CLEANUP(conversation_done) struct conversation parent = CONVERSATION_INIT;
    struct uuid unknown = uuid_random();

    store_one(&context, "local", NULL, &parent);
    other.caller.scope.user_id = test_user(context.db);
    assert_int_equal(start_below(&context, &parent.id, "/w"), ERROR_NONE);
    assert_int_equal(start_below(&context, &parent.id, "/other"), ERROR_INVALID);
    assert_int_equal(start_below(&context, &unknown, "/w"), ERROR_INVALID);
    assert_int_equal(start_below(&other, &parent.id, "/w"), ERROR_INVALID);
}

static void requested_child_below_the_deepest_is_refused(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    struct uuid parent_id = UUID_INIT;

    for (int depth = 0; depth <= CHILD_DEPTH_MAX; depth++) {
        CLEANUP(conversation_done) struct conversation made = CONVERSATION_INIT;

        store_one(&context, "local", depth > 0 ? &parent_id : NULL, &made);
        parent_id = made.id;
    }
    assert_int_equal(start_below(&context, &parent_id, "/w"), ERROR_INVALID);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_shares_the_sandbox_of_its_parent),
        cmocka_unit_test(a_child_below_the_deepest_is_refused),
        cmocka_unit_test(a_copy_has_a_sandbox_like_its_sources),
        cmocka_unit_test(a_copy_apart_has_a_sandbox_of_its_own),
        cmocka_unit_test(requested_child_is_below_ones_own_in_the_same_folder),
        cmocka_unit_test(requested_child_below_the_deepest_is_refused),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, start_set_up_with_db, start_tear_down);
}
