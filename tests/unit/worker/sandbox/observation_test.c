#include "worker/worker_test.h"

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "worker/agent/sandbox/observation.h"
#include "worker/events.h"

static int take(const char *reply, const char *kind, json_t **out)
{
    json_auto_t *json = test_json(reply);
    struct error err = ERROR_INIT;

    return observation_from_sandbox(json, kind, out, &err);
}

static void impossible_replies_are_refused(void **state)
{
    json_t *out = NULL;

    (void)state;
    assert_int_equal(take("{}", "TerminalObservation", &out), -1);
    assert_int_equal(take("[]", "TerminalObservation", &out), -1);
    assert_int_equal(
        take("{\"kind\": \"FinishObservation\", \"content\": []}", "TerminalObservation", &out),
        -1);
    assert_int_equal(
        take("{\"kind\": \"TerminalObservation\", \"content\": [1]}", "TerminalObservation", &out),
        -1);
    assert_null(out);
}

static void only_known_members_pass(void **state)
{
    json_t *out = NULL;

    (void)state;
    assert_int_equal(take("{\"kind\": \"TerminalObservation\", \"content\": [], \"exit_code\": 1,"
                          " \"command\": 7, \"more\": 1, \"metadata\": {\"pid\": 3, \"x\": 1}}",
                          "TerminalObservation", &out),
                     0);
    assert_int_equal(json_int_or(out, "exit_code", 0), 1);
    assert_null(json_object_get(out, "command"));
    assert_null(json_object_get(out, "more"));
    assert_int_equal(json_object_size(json_object_get(out, "metadata")), 1);
    json_decref(out);
}

static void a_browser_tells_its_picture_only(void **state)
{
    json_t *out = NULL;

    (void)state;
    assert_int_equal(take("{\"kind\": \"BrowserObservation\", \"content\": [],"
                          " \"screenshot_data\": \"aGk=\", \"tabs\": 3}",
                          "BrowserObservation", &out),
                     0);
    assert_string_equal(json_text_or(out, "screenshot_data", ""), "aGk=");
    assert_null(json_object_get(out, "tabs"));
    json_decref(out);
}

static void edits_too_large_for_an_event_lose_their_contents(void **state)
{
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
    json_t *out = NULL;

    (void)state;
    strbuf_append(&reply, "{\"kind\": \"FileEditorObservation\", \"content\": [], \"path\": \"/a\","
                          " \"old_content\": \"");
    for (int i = 0; i < 1200000; i++)
        strbuf_append_char(&reply, 'x');
    strbuf_append(&reply, "\"}");
    assert_int_equal(take(reply.text, "FileEditorObservation", &out), 0);
    assert_null(json_object_get(out, "old_content"));
    assert_string_equal(json_text_or(out, "path", ""), "/a");
    json_decref(out);
}

int observation_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_replies_are_refused),
        cmocka_unit_test(only_known_members_pass),
        cmocka_unit_test(a_browser_tells_its_picture_only),
        cmocka_unit_test(edits_too_large_for_an_event_lose_their_contents),
    };

    return cmocka_run_group_tests_name("observation", tests, NULL, NULL);
}
