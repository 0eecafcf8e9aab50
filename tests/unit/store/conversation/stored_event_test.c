/*
 * Stored events as a worker keeps them: packed and read again.
 */
#include "store/conversation/stored_event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

static void assert_copies(const struct stored_event *event, const json_t *json)
{
    struct stored_event copy = stored_event_copy(event);

    assert_true(json_equal(stored_event_json(&copy), json) == 1);
    assert_string_equal(copy.kind, event->kind);
    assert_ptr_equal(copy.call_id, event->call_id);
    assert_null(copy.summary);
    stored_event_drop(&copy);
}

/* is_given: by the text with which it was stored. */
static void assert_packs(const char *kind, const char *text, bool is_packed, bool is_given)
{
    struct stored_event event = {.seq = 1};
    json_auto_t *json = json_loads(text, 0, NULL);

    assert_non_null(json);
    stored_event_set_body(&event, kind, json_deep_copy(json));
    if (is_given)
        stored_event_take_text(&event, mem_dup_text(text), strlen(text));
    event.summary = json;
    assert_copies(&event, json);
    for (size_t i = 0; i < 3; i++) {
        stored_event_pack(&event);
        assert_copies(&event, json);
        assert_int_equal(event.body == NULL, is_packed);
        stored_event_pack(&event);
        assert_true(json_equal(stored_event_json(&event), json) == 1);
    }
    if (text_equal(kind, "ActionEvent"))
        assert_string_equal(event.call_id, "c");
    else
        assert_null(event.call_id);
    assert_string_equal(stored_event_response(&event), json_text_or(json, "llm_response_id", ""));
    stored_event_drop(&event);
    assert_null(event.body);
    assert_null(event.packed);
}

static void calls_and_results_are_packed_and_read_again(void **state)
{
    static const struct {
        const char *kind;
        const char *text;
        bool is_packed;
    } cases[] = {
        {"ActionEvent", "{\"tool_call_id\":\"c\",\"llm_response_id\":\"r\",\"x\":[1.5]}", true},
        {"ActionEvent", "{\"tool_call_id\":\"c\",\"x\":\"\\u0001\\u00e9\\n\"}", true},
        {"ObservationEvent", "{\"tool_call_id\":\"c\",\"observation\":{}}", true},
        {"Condensation", "{\"summary\":\"s\",\"llm_response_id\":\"r\"}", false},
        {"MessageEvent", "{\"source\":\"user\"}", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_packs(cases[i].kind, cases[i].text, cases[i].is_packed, false);
        assert_packs(cases[i].kind, cases[i].text, cases[i].is_packed, true);
    }
}

/* The given text is what packing keeps: the body is not written again. */
static void packed_text_is_the_given_one(void **state)
{
    static const char text[] = "{ \"tool_call_id\": \"c\" }";
    struct stored_event event = {.seq = 1};

    (void)state;
    stored_event_set_body(&event, "ActionEvent", json_loads(text, 0, NULL));
    stored_event_take_text(&event, mem_dup_text(text), strlen(text));
    stored_event_pack(&event);
    assert_int_equal(event.packed_len, strlen(text));
    assert_memory_equal(event.packed, text, strlen(text));
    stored_event_drop(&event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_and_results_are_packed_and_read_again),
        cmocka_unit_test(packed_text_is_the_given_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
