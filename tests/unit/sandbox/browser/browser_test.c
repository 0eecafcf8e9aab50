#include "unit/sandbox/sandbox_test.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/browser/cdp.h"
#include "sandbox/browser/cdp_message.h"
#include "sandbox/browser/driver.h"
#include "sandbox/browser/input.h"
#include "sandbox/browser/navigate.h"
#include "sandbox/browser/page_content.h"
#include "sandbox/browser/page_state.h"

enum { SOON_MS = 20000 };

/* A browser whose answers the test writes ahead. */
struct talk {
    struct cdp *cdp;
    int to_browser[2];
    int from_browser[2];
    int stop[2];
    size_t n_events;
    char last_event[CDP_ID_BYTES];
};

static void on_event(void *owner, const char *method, const char *session, const json_t *params)
{
    struct talk *talk = owner;

    (void)session;
    (void)params;
    talk->n_events++;
    cdp_copy_id(talk->last_event, method);
}

static void talk_begin(struct talk *talk)
{
    struct cdp_listener listener = {talk, on_event};

    assert_int_equal(pipe2(talk->to_browser, O_CLOEXEC), 0);
    assert_int_equal(pipe2(talk->from_browser, O_CLOEXEC), 0);
    assert_int_equal(pipe2(talk->stop, O_CLOEXEC), 0);
    talk->cdp = cdp_new(
        &(struct cdp_ends){talk->to_browser[1], talk->from_browser[0], talk->stop[0]}, &listener);
}

static void talk_done(struct talk *talk)
{
    int *ends[] = {&talk->to_browser[0],   &talk->to_browser[1], &talk->from_browser[0],
                   &talk->from_browser[1], &talk->stop[0],       &talk->stop[1]};

    cdp_free(talk->cdp);
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        fd_close(ends[i]);
}

/* A message and its NUL. */
static void say(const struct talk *talk, const char *message)
{
    assert_int_equal(write(talk->from_browser[1], message, strlen(message) + 1),
                     strlen(message) + 1);
}

static int ask(const struct talk *talk, const char *session, json_t **result_out, struct error *err)
{
    return cdp_call(talk->cdp,
                    &(struct cdp_order){.session = session,
                                        .method = "Page.enable",
                                        .deadline_ms = clock_monotonic_ms() + SOON_MS},
                    result_out, err);
}

static void an_answer_comes_behind_events_and_foreign_answers(void **state)
{
    CLEANUP(talk_done) struct talk talk = {0};
    json_auto_t *result = NULL;
    struct error err = ERROR_INIT;
    char sent[256] = "";

    (void)state;
    talk_begin(&talk);
    say(&talk, "{\"method\":\"Page.loadEventFired\",\"params\":{}}");
    say(&talk, "{\"id\":77,\"result\":{\"a\":1}}");
    say(&talk, "{\"id\":1,\"result\":{\"a\":2}}");
    assert_int_equal(ask(&talk, "S1", &result, &err), 0);
    assert_int_equal(json_int_or(result, "a", 0), 2);
    assert_int_equal(talk.n_events, 1);
    assert_string_equal(talk.last_event, "Page.loadEventFired");
    assert_true(read(talk.to_browser[0], sent, sizeof(sent)) > 0);
    assert_string_equal(sent,
                        "{\"id\":1,\"method\":\"Page.enable\",\"params\":{},\"sessionId\":\"S1\"}");
}

static void what_ends_a_wait_says_how(void **state)
{
    static const struct {
        const char *message;
        enum error_code code;
    } cases[] = {
        {"{\"id\":1,\"error\":{\"code\":-32000,\"message\":\"Cannot\"}}", ERROR_INVALID},
        {"{\"method\":\"Target.detachedFromTarget\",\"params\":{\"sessionId\":\"S1\"}}",
         ERROR_NOT_FOUND},
        {"{\"method\":\"Inspector.targetCrashed\",\"sessionId\":\"S1\",\"params\":{}}",
         ERROR_NOT_FOUND},
        {"[1]", ERROR_UNAVAILABLE},
        {"{\"id\":", ERROR_UNAVAILABLE},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(talk_done) struct talk talk = {0};
        json_auto_t *result = NULL;
        struct error err = ERROR_INIT;

        talk_begin(&talk);
        say(&talk, cases[i].message);
        assert_int_equal(ask(&talk, "S1", &result, &err), -1);
        assert_int_equal(err.code, cases[i].code);
    }
}

static void end_of_a_session_ends_its_own_wait_alone(void **state)
{
    static const char over[] =
        "{\"method\":\"Target.detachedFromTarget\",\"params\":{\"sessionId\":\"S1\"}}";
    CLEANUP(talk_done) struct talk talk = {0};
    json_auto_t *none = NULL;
    json_auto_t *other = NULL;
    json_auto_t *next = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    talk_begin(&talk);
    say(&talk, over);
    assert_int_equal(ask(&talk, "S1", &none, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    say(&talk, over);
    say(&talk, "{\"id\":2,\"result\":{\"a\":1}}");
    assert_int_equal(ask(&talk, "S2", &other, &err), 0);
    assert_int_equal(json_int_or(other, "a", 0), 1);
    say(&talk, "{\"id\":3,\"result\":{\"a\":2}}");
    assert_int_equal(ask(&talk, "S1", &next, &err), 0);
    assert_int_equal(json_int_or(next, "a", 0), 2);
}

static void a_wait_ends_with_its_deadline_the_browser_and_a_stop(void **state)
{
    CLEANUP(talk_done) struct talk talk = {0};
    json_auto_t *result = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    talk_begin(&talk);
    assert_int_equal(cdp_listen(talk.cdp, clock_monotonic_ms() + 1, &err), -1);
    assert_int_equal(err.code, ERROR_TIMEOUT);
    assert_int_equal(write(talk.stop[1], "x", 1), 1);
    assert_int_equal(ask(&talk, "", &result, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_int_equal(read(talk.stop[0], (char[1]){0}, 1), 1);
    fd_close(&talk.from_browser[1]);
    assert_int_equal(ask(&talk, "", &result, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
}

static void what_json_cannot_hold_is_replaced(void **state)
{
    static const struct {
        const char *told;
        const char *text;
    } cases[] = {
        {"\"a\\ud800b\"", "a\xEF\xBF\xBD"
                          "b"},
        {"\"\\udc00\"", "\xEF\xBF\xBD"},
        {"\"\\ud83d\\ude00\"", "\xF0\x9F\x98\x80"},
        {"\"x\\u0000y\"", "x\xEF\xBF\xBDy"},
        {"\"\\\\ud800\"", "\\ud800"},
        {"\"\\ud83d\\u0041\"", "\xEF\xBF\xBD"
                               "A"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *json = NULL;
        struct error err = ERROR_INIT;

        assert_int_equal(cdp_parse(cases[i].told, strlen(cases[i].told), &json, &err), 0);
        assert_string_equal(json_string_value(json), cases[i].text);
    }
}

static json_t *elements_of(size_t n)
{
    json_t *elements = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *element = json_object();

        json_put_text(element, "tag", "a");
        json_put_text(element, "text", "a link of some length, to fill the text");
        json_put_text(element, "href", "http://x.test/");
        json_put_text(element, "color", "red");
        json_push(elements, element);
    }
    return elements;
}

static void a_state_numbers_elements_and_has_known_members_only(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    json_auto_t *page = json_object();
    json_auto_t *elements = elements_of(2);

    (void)state;
    json_put_text(page, "url", "u");
    (void)json_object_del(json_array_get(elements, 1), "href");
    json_put(json_array_get(elements, 1), "text", json_integer(3));
    assert_int_equal(page_state_append(&out, page, elements), 2);
    assert_string_equal(
        out.text,
        "{\"url\":\"u\",\"interactive_elements\":[{\"index\":0,\"tag\":\"a\",\"text\":\"a link of "
        "some length, to fill the text\",\"href\":\"http://x.test/\"},{\"index\":1,\"tag\":\"a\","
        "\"text\":\"\"}]}");
}

static void a_long_state_ends_with_a_whole_element(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    json_auto_t *page = json_object();
    json_auto_t *elements = elements_of(2000);
    json_auto_t *read_back = NULL;
    struct error err = ERROR_INIT;
    size_t n = 0;

    (void)state;
    n = page_state_append(&out, page, elements);
    assert_in_range(n, 100, 1999);
    assert_true(utf8_length(out.text, out.len) <= MAX_BROWSER_TEXT_CHARS);
    assert_int_equal(json_parse(out.text, out.len, &read_back, &err), 0);
    assert_int_equal(json_array_size(json_object_get(read_back, "interactive_elements")), n);
}

/* What the page itself takes is not left for its elements. */
static void page_and_elements_share_the_limit(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf title = STRBUF_INIT;
    json_auto_t *page = json_object();
    json_auto_t *elements = elements_of(2000);
    json_auto_t *bare = json_object();
    size_t n = 0;

    (void)state;
    for (int i = 0; i < MAX_BROWSER_TEXT_CHARS / 2; i++)
        strbuf_append(&title, "\xC3\xA4");
    json_put_text(page, "title", title.text);
    strbuf_append(&out, "before");
    n = page_state_append(&out, page, elements);
    assert_true(text_starts_with(out.text, "before{\"title\":\"\xC3\xA4"));
    assert_in_range(utf8_length(out.text, out.len), MAX_BROWSER_TEXT_CHARS - 200,
                    MAX_BROWSER_TEXT_CHARS + strlen("before"));
    strbuf_reset(&out);
    assert_in_range(page_state_append(&out, bare, elements), 2 * n - 2, 2 * n + 2);
}

static void content_comes_in_windows(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf first = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf second = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < CONTENT_WINDOW_CHARS; i++)
        strbuf_append(&text, "\xC3\xA4");
    strbuf_append(&text, "end");
    assert_int_equal(page_content_append_window(&first, "u", &text, 0, &err), 0);
    assert_true(text_starts_with(first.text, "URL: u\nCharacters 0 to 30000 of 30003. For more: "
                                             "start_from_char=30000.\n\n\xC3\xA4"));
    assert_int_equal(page_content_append_window(&second, "u", &text, CONTENT_WINDOW_CHARS, &err),
                     0);
    assert_string_equal(second.text, "URL: u\nCharacters 30000 to 30003 of 30003.\n\nend");
    assert_int_equal(page_content_append_window(&second, "u", &text, 30003, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
}

static void addresses_are_completed_or_refused(void **state)
{
    static const struct {
        const char *told;
        const char *url; /* NULL: refused */
    } cases[] = {
        {"http://a.test/x", "http://a.test/x"},
        {" HTTPS://a.test", "HTTPS://a.test"},
        {"a.test/x", "https://a.test/x"},
        {"a.test:8080/x", "https://a.test:8080/x"},
        {"localhost:3000", "http://localhost:3000"},
        {"127.0.0.1", "http://127.0.0.1"},
        {"about:blank", "about:blank"},
        {"file:///etc/passwd", NULL},
        {"FILE:///etc/passwd", NULL},
        {"chrome://version", NULL},
        {"devtools://devtools/bundled/x.html", NULL},
        {"view-source:http://a.test", NULL},
        {"javascript:alert(1)", NULL},
        {"data:text/html,x", NULL},
        {"about:settings", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
        struct error err = ERROR_INIT;
        int rc = navigate_read_url(cases[i].told, &url, &err);

        assert_int_equal(rc, cases[i].url != NULL ? 0 : -1);
        if (cases[i].url != NULL)
            assert_string_equal(url.text, cases[i].url);
    }
}

static void what_looks_secret_is_not_shown(void **state)
{
    (void)state;
    assert_string_equal(input_shown_text("anna@example.test"), "<email>");
    assert_string_equal(input_shown_text("sk-abcdef0123456789"), "<credential>");
    assert_string_equal(input_shown_text("a plain sentence with 2 numbers."),
                        "a plain sentence with 2 numbers.");
    assert_string_equal(input_shown_text("Anna"), "Anna");
}

int browser_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_comes_behind_events_and_foreign_answers),
        cmocka_unit_test(what_ends_a_wait_says_how),
        cmocka_unit_test(end_of_a_session_ends_its_own_wait_alone),
        cmocka_unit_test(a_wait_ends_with_its_deadline_the_browser_and_a_stop),
        cmocka_unit_test(what_json_cannot_hold_is_replaced),
        cmocka_unit_test(a_state_numbers_elements_and_has_known_members_only),
        cmocka_unit_test(a_long_state_ends_with_a_whole_element),
        cmocka_unit_test(page_and_elements_share_the_limit),
        cmocka_unit_test(content_comes_in_windows),
        cmocka_unit_test(addresses_are_completed_or_refused),
        cmocka_unit_test(what_looks_secret_is_not_shown),
    };

    return cmocka_run_group_tests_name("browser", tests, NULL, NULL);
}
