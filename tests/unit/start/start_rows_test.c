/*
 * The rows of a new conversation, as they are planned for whatever transaction stores them.
 */
#include <stdbool.h>

#include "base/json.h"
#include "base/text.h"
#include "model/conversation/worktree.h"
#include "start/start_parse.h"
#include "start/start_rows.h"
#include "start/start_validate.h"
#include "support/test_catalogue.h"
#include "unit/start/start_fixture.h"

/* A validated request with these further members. */
static void plan(const struct start_context *context, const char *members,
                 struct start_plan *plan_out)
{
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body = start_body(members);
    struct error err = ERROR_INIT;

    assert_done(start_parse(context, body, NULL, &request, &err), &err);
    assert_done(start_validate(context, &request, plan_out, &err), &err);
}

static bool has_event(const struct start_rows *rows, const char *kind)
{
    for (size_t i = 0; i < rows->events.n; i++) {
        if (text_equal(rows->events.items[i].kind, kind))
            return true;
    }
    return false;
}

static const json_t *message_of(const struct start_rows *rows)
{
    for (size_t i = 0; i < rows->events.n; i++) {
        if (text_equal(rows->events.items[i].kind, "MessageEvent"))
            return rows->events.items[i].json;
    }
    return NULL;
}

static void a_first_message_starts_a_run(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_plan_done) struct start_plan planned = START_PLAN_INIT;
    CLEANUP(start_rows_done) struct start_rows rows = START_ROWS_INIT;
    json_auto_t *content = start_json("[{'type': 'text', 'text': 'go'}]");
    struct start_order order = {
        .catalogue = test_catalogue(), .content = content, .sender = "alice"};
    struct error err = ERROR_INIT;

    plan(&context, "", &planned);
    order.conversation = &planned.conversation;
    assert_done(start_rows_plan(&order, &rows, &err), &err);
    assert_true(has_event(&rows, "SystemPromptEvent"));
    assert_string_equal(json_text_or(message_of(&rows), "sender", ""), "alice");
    assert_string_equal(rows.write.status, "running");
    assert_true(rows.write.want_run);
    assert_true(uuid_is_set(&rows.write.last_user_message_id));
    assert_non_null(rows.write.stats);
    assert_null(rows.write.job.kind);
}

static void without_a_message_nothing_is_planned(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_plan_done) struct start_plan planned = START_PLAN_INIT;
    CLEANUP(start_rows_done) struct start_rows rows = START_ROWS_INIT;
    struct start_order order = {.catalogue = test_catalogue(), .folder = START_IN_FOLDER};
    struct error err = ERROR_INIT;

    plan(&context, "", &planned);
    order.conversation = &planned.conversation;
    assert_done(start_rows_plan(&order, &rows, &err), &err);
    assert_int_equal(rows.events.n, 0);
    assert_null(rows.write.status);
    assert_false(rows.write.want_run);
    assert_null(rows.write.job.kind);
}

static void a_worktree_gets_a_job_with_the_message(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_plan_done) struct start_plan planned = START_PLAN_INIT;
    CLEANUP(start_rows_done) struct start_rows rows = START_ROWS_INIT;
    json_auto_t *content = start_json("[{'type': 'text', 'text': 'go'}]");
    json_auto_t *options = start_json("{'base': 'head'}");
    struct start_order order = {.catalogue = test_catalogue(),
                                .content = content,
                                .sender = "alice",
                                .folder = START_IN_WORKTREE,
                                .worktree_options = options};
    struct error err = ERROR_INIT;

    plan(&context, "", &planned);
    order.conversation = &planned.conversation;
    assert_done(start_rows_plan(&order, &rows, &err), &err);
    assert_int_equal(rows.events.n, 0);
    assert_false(rows.write.want_run);
    assert_true(worktree_is_pending(&planned.conversation));
    assert_string_equal(rows.write.job.kind, "worktree");
    assert_string_equal(rows.write.job.key.text, planned.conversation.id.text);
    assert_true(json_equal(json_object_get(rows.write.job.payload, "content"), content));
    assert_string_equal(json_text_or(rows.write.job.payload, "sender", ""), "alice");
    assert_true(json_equal(json_object_get(rows.write.job.payload, "options"), options));
}

static void content_that_is_no_list_is_refused(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_plan_done) struct start_plan planned = START_PLAN_INIT;
    CLEANUP(start_rows_done) struct start_rows rows = START_ROWS_INIT;
    json_auto_t *content = start_json("{}");
    struct start_order order = {.catalogue = test_catalogue(), .content = content};
    struct error err = ERROR_INIT;

    plan(&context, "", &planned);
    order.conversation = &planned.conversation;
    assert_int_equal(start_rows_plan(&order, &rows, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_message_starts_a_run),
        cmocka_unit_test(without_a_message_nothing_is_planned),
        cmocka_unit_test(a_worktree_gets_a_job_with_the_message),
        cmocka_unit_test(content_that_is_no_list_is_refused),
    };

    return cmocka_run_group_tests(tests, start_set_up, start_tear_down);
}
