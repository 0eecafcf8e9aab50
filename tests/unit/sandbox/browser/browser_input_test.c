/*
 * Clicks and typing: what is sent to the page for each kind of element.
 */
#include "sandbox/browser/input.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/browser/cdp.h"
#include "sandbox/browser/page_frames.h"
#include "unit/sandbox/browser/fake_browser.h"

#define FOUND {"Runtime.evaluate", NULL, "\"result\":{\"result\":{\"objectId\":\"o7\"}}"}
#define FACTS(text)                                                                                \
    {"Runtime.callFunctionOn", NULL, "\"result\":{\"result\":{\"value\":\"" text "\"}}"}
#define END {NULL, NULL, NULL}

#define FIND                                                                                       \
    "s2 Runtime.evaluate {\"contextId\":5,\"expression\":\"globalThis.deftElements?.[1]\"}\n"      \
    "s2 Runtime.callFunctionOn {\"functionDeclaration\":\"READY\",\"objectId\":\"o7\","            \
    "\"returnByValue\":true}\n"
#define CALL(name, arguments)                                                                      \
    "s2 Runtime.callFunctionOn {" arguments "\"functionDeclaration\":\"" name                      \
    "\",\"objectId\":\"o7\",\"returnByValue\":true}\n"
#define SETTLE                                                                                     \
    "s2 Runtime.evaluate {\"awaitPromise\":true,\"expression\":\"new Promise(done => "             \
    "setTimeout(done, 100))\"}\n"

/* The state was read before: elements 2 to 4 are in the frame of world 5. */
static void begin(struct browser_bench *bench, const struct fake_answer *answers)
{
    fake_browser_begin(bench, answers);
    memcpy(bench->driver.indexed_target, "target-0002", sizeof("target-0002"));
    bench->driver.n_frames = 1;
    bench->driver.frames[0] =
        (struct page_frame){.id = "f", .url = mem_dup_text("u"), .world = 5, .first = 2, .n = 3};
}

static void end(struct browser_bench *bench, const char *commands)
{
    page_frames_clear(&bench->driver);
    fake_browser_end(bench, commands);
}

static int call(struct browser_bench *bench,
                int (*tool)(struct driver *driver, const json_t *args, struct driver_reply *reply,
                            struct error *err),
                const char *args, struct error *err)
{
    json_auto_t *given = json_loads(args, 0, NULL);

    assert_non_null(given);
    return tool(&bench->driver, given, &bench->reply, err);
}

static void element_is_clicked_in_its_middle(void **state)
{
    static const struct fake_answer answers[] = {
        FOUND,
        FACTS("{\\\"hit\\\":true}"),
        {"DOM.getContentQuads", NULL, "\"result\":{\"quads\":[[10,20,30,20,30,60,10,60]]}"},
        END};
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    begin(&bench, answers);
    assert_int_equal(call(&bench, input_click, "{\"index\":3}", &err), 0);
    assert_string_equal(bench.reply.text.text, "Clicked element 3");
    assert_string_equal(bench.driver.notes.text, "");
    end(&bench, FIND "s2 DOM.getContentQuads {\"objectId\":\"o7\"}\n"
                     "s2 Input.dispatchMouseEvent {\"button\":\"none\",\"clickCount\":1,\"type\":"
                     "\"mouseMoved\",\"x\":20.0,\"y\":40.0}\n"
                     "s2 Input.dispatchMouseEvent {\"button\":\"left\",\"clickCount\":1,\"type\":"
                     "\"mousePressed\",\"x\":20.0,\"y\":40.0}\n"
                     "s2 Input.dispatchMouseEvent {\"button\":\"left\",\"clickCount\":1,\"type\":"
                     "\"mouseReleased\",\"x\":20.0,\"y\":40.0}\n" SETTLE);
}

/* What another element covers, or has no box, is pressed by a script. */
static void hidden_element_is_pressed_by_a_script(void **state)
{
    static const struct fake_answer covered[] = {FOUND, FACTS("{\\\"hit\\\":false}"), FACTS("1"),
                                                 END};
    static const struct fake_answer boxless[] = {
        FOUND,
        FACTS("{\\\"hit\\\":true}"),
        {"DOM.getContentQuads", NULL, "\"result\":{\"quads\":[[1,2,3]]}"},
        FACTS("1"),
        END};
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    begin(&bench, covered);
    assert_int_equal(call(&bench, input_click, "{\"index\":3}", &err), 0);
    end(&bench, FIND CALL("PRESS", "") SETTLE);
    begin(&bench, boxless);
    assert_int_equal(call(&bench, input_click, "{\"index\":3}", &err), 0);
    end(&bench, FIND "s2 DOM.getContentQuads {\"objectId\":\"o7\"}\n" CALL("PRESS", "") SETTLE);
}

static void link_is_opened_in_a_new_tab(void **state)
{
    static const struct fake_answer answers[] = {FOUND,
                                                 FACTS("{\\\"href\\\":\\\"http://a/\\\"}"),
                                                 {"Target.createTarget",
                                                  ATTACHED("s3", "target-0003", "about:blank"),
                                                  "\"result\":{\"targetId\":\"target-0003\"}"},
                                                 END};
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    begin(&bench, answers);
    assert_int_equal(call(&bench, input_click, "{\"index\":3,\"new_tab\":true}", &err), 0);
    assert_string_equal(bench.reply.text.text,
                        "Clicked element 3 and opened its link in a new tab: http://a/");
    end(&bench, FIND "- Target.createTarget {\"url\":\"about:blank\"}\n"
                     "s3 Page.enable {}\ns3 Page.setLifecycleEventsEnabled {\"enabled\":true}\n"
                     "s3 Runtime.runIfWaitingForDebugger {}\n"
                     "s3 Page.navigate {\"url\":\"http://a/\"}\n");
}

/* Only an address, and only when a new tab is asked for. */
static void other_links_are_clicked(void **state)
{
    static const struct {
        const char *args;
        struct fake_answer answers[4];
    } cases[] = {
        {"{\"index\":3}", {FOUND, FACTS("{\\\"href\\\":\\\"http://a/\\\"}"), FACTS("1"), END}},
        {"{\"index\":3,\"new_tab\":true}",
         {FOUND, FACTS("{\\\"href\\\":\\\"javascript:x()\\\"}"), FACTS("1"), END}},
        {"{\"index\":3,\"new_tab\":true}", {FOUND, FACTS("{}"), FACTS("1"), END}},
    };
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        begin(&bench, cases[i].answers);
        assert_int_equal(call(&bench, input_click, cases[i].args, &err), 0);
        assert_string_equal(bench.reply.text.text, "Clicked element 3");
        end(&bench, FIND CALL("PRESS", "") SETTLE);
    }
}

static void new_tab_of_a_click_is_told(void **state)
{
    static const struct fake_answer answers[] = {FOUND,
                                                 FACTS("{}"),
                                                 {"Runtime.callFunctionOn",
                                                  ATTACHED("s3", "target-0003", "http://three/"),
                                                  "\"result\":{\"result\":{\"value\":\"1\"}}"},
                                                 END};
    static const struct fake_answer closes[] = {
        FOUND,
        FACTS("{}"),
        {"Runtime.callFunctionOn",
         "{\"method\":\"Target.detachedFromTarget\",\"params\":{\"sessionId\":\"s1\"}}\n"
         "{\"method\":\"Target.detachedFromTarget\",\"params\":{\"sessionId\":\"s2\"}}",
         NULL},
        END};
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    begin(&bench, answers);
    assert_int_equal(call(&bench, input_click, "{\"index\":3}", &err), 0);
    assert_string_equal(bench.driver.notes.text, "[The current tab is now 0003: http://three/]");
    end(&bench,
        FIND CALL(
            "PRESS",
            "") "s3 Page.enable {}\ns3 Page.setLifecycleEventsEnabled {\"enabled\":true}\n"
                "s3 Runtime.runIfWaitingForDebugger {}\n"
                "s3 Runtime.evaluate {\"awaitPromise\":true,\"expression\":\"new Promise(done => "
                "setTimeout(done, 100))\"}\n");
    begin(&bench, closes);
    assert_int_equal(call(&bench, input_click, "{\"index\":3}", &err), 0);
    assert_string_equal(bench.driver.notes.text, "[The page closed its tab.]");
    end(&bench, FIND CALL("PRESS", ""));
}

static void element_that_is_not_there_is_an_error(void **state)
{
    static const struct fake_answer none[] = {END};
    static const struct fake_answer left[] = {
        {"Runtime.evaluate", NULL, "\"error\":{\"message\":\"no world\"}"}, END};
    static const struct fake_answer gone[] = {FOUND, FACTS("{\\\"gone\\\":true}"), END};
    static const struct {
        const struct fake_answer *answers;
        const char *args;
        const char *index;
        const char *commands;
    } cases[] = {
        {none, "{\"index\":1}", "1", ""},
        {none, "{\"index\":5}", "5", ""},
        {none, "{}", "-1", ""},
        {none, "{\"index\":2}", "2",
         "s2 Runtime.evaluate {\"contextId\":5,\"expression\":\"globalThis.deftElements?.[0]\"}\n"},
        {left, "{\"index\":4}", "4",
         "s2 Runtime.evaluate {\"contextId\":5,\"expression\":\"globalThis.deftElements?.[2]\"}\n"},
        {gone, "{\"index\":3}", "3", FIND},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
        struct browser_bench bench;
        struct error err = ERROR_INIT;

        strbuf_appendf(&message,
                       "Element with index %s not found. browser_get_state lists the elements.",
                       cases[i].index);
        begin(&bench, cases[i].answers);
        assert_int_equal(call(&bench, i % 2 == 0 ? input_click : input_type, cases[i].args, &err),
                         -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_string_equal(err.message, message.text);
        end(&bench, cases[i].commands);
    }
}

static void text_is_set_or_typed(void **state)
{
    static const struct fake_answer set[] = {FOUND, FACTS("{\\\"kind\\\":\\\"text\\\"}"),
                                             FACTS("true"), END};
    static const struct fake_answer typed[] = {FOUND, FACTS("{\\\"kind\\\":\\\"secret\\\"}"),
                                               FACTS("false"), FACTS("1"), END};
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    begin(&bench, set);
    assert_int_equal(call(&bench, input_type, "{\"index\":3,\"text\":\"hello\"}", &err), 0);
    assert_string_equal(bench.reply.text.text, "Typed 'hello' into element 3");
    end(&bench, FIND CALL("SET", "\"arguments\":[{\"value\":\"hello\"}],") SETTLE);
    begin(&bench, typed);
    assert_int_equal(call(&bench, input_type, "{\"index\":3,\"text\":\"a\\nb\"}", &err), 0);
    assert_string_equal(bench.reply.text.text, "Typed <credential> into element 3");
    end(&bench,
        FIND CALL("SET", "\"arguments\":[{\"value\":\"a\\nb\"}],") CALL(
            "FOCUS",
            "") "s2 Input.dispatchKeyEvent "
                "{\"code\":\"Delete\",\"key\":\"Delete\",\"type\":\"keyDown\","
                "\"windowsVirtualKeyCode\":46}\n"
                "s2 Input.dispatchKeyEvent "
                "{\"code\":\"Delete\",\"key\":\"Delete\",\"type\":\"keyUp\","
                "\"windowsVirtualKeyCode\":46}\n"
                "s2 Input.insertText {\"text\":\"a\"}\n"
                "s2 Input.dispatchKeyEvent {\"code\":\"Enter\",\"key\":\"Enter\",\"text\":\"\\r\","
                "\"type\":\"keyDown\",\"windowsVirtualKeyCode\":13}\n"
                "s2 Input.dispatchKeyEvent "
                "{\"code\":\"Enter\",\"key\":\"Enter\",\"type\":\"keyUp\","
                "\"windowsVirtualKeyCode\":13}\n"
                "s2 Input.insertText {\"text\":\"b\"}\n" SETTLE);
}

static void other_kinds_of_fields_are_filled(void **state)
{
    static const struct fake_answer file[] = {FOUND, FACTS("{\\\"kind\\\":\\\"file\\\"}"), END};
    static const struct fake_answer option[] = {FOUND, FACTS("{\\\"kind\\\":\\\"select\\\"}"),
                                                FACTS("true"), END};
    static const struct fake_answer no_option[] = {FOUND, FACTS("{\\\"kind\\\":\\\"select\\\"}"),
                                                   FACTS("\\\"a, b\\\""), END};
    static const struct fake_answer button[] = {FOUND, FACTS("{}"), END};
    static const char args[] = "{\"index\":3,\"text\":\"x\"}";
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    begin(&bench, file);
    assert_int_equal(call(&bench, input_type, args, &err), 0);
    end(&bench, FIND "s2 DOM.setFileInputFiles {\"files\":[\"x\"],\"objectId\":\"o7\"}\n" SETTLE);
    begin(&bench, option);
    assert_int_equal(call(&bench, input_type, args, &err), 0);
    end(&bench, FIND CALL("CHOOSE", "\"arguments\":[{\"value\":\"x\"}],") SETTLE);
    begin(&bench, no_option);
    assert_int_equal(call(&bench, input_type, args, &err), -1);
    assert_string_equal(err.message, "There is no such option. The options are: a, b");
    end(&bench, FIND CALL("CHOOSE", "\"arguments\":[{\"value\":\"x\"}],"));
    begin(&bench, button);
    assert_int_equal(call(&bench, input_type, args, &err), -1);
    assert_string_equal(err.message, "Nothing can be typed into this element; click it instead.");
    end(&bench, FIND);
}

static void page_is_scrolled(void **state)
{
    static const struct fake_answer answers[] = {
        {"Page.createIsolatedWorld", NULL, "\"result\":{\"executionContextId\":9}"},
        {"Runtime.evaluate", NULL, "\"result\":{\"result\":{\"value\":\"{\\\"y\\\":300}\"}}"},
        {"Page.createIsolatedWorld", NULL, "\"result\":{\"executionContextId\":9}"},
        {"Runtime.evaluate", NULL,
         "\"result\":{\"exceptionDetails\":{\"text\":\"t\",\"exception\":{\"description\":\"why\"}}"
         "}"},
        {"Page.createIsolatedWorld", NULL, "\"result\":{\"executionContextId\":9}"},
        {"Runtime.evaluate", NULL, "\"result\":{\"result\":{\"value\":7}}"},
        END};
    static const char world[] =
        "s2 Page.createIsolatedWorld {\"frameId\":\"target-0002\",\"worldName\":\"deft\"}\n";
    CLEANUP(strbuf_done) struct strbuf commands = STRBUF_INIT;
    struct browser_bench bench;
    struct error err = ERROR_INIT;

    (void)state;
    begin(&bench, answers);
    assert_int_equal(call(&bench, input_scroll, "{}", &err), 0);
    assert_string_equal(bench.reply.text.text, "Scrolled down; 300 pixels are above now");
    assert_int_equal(call(&bench, input_scroll, "{\"direction\":\"up\"}", &err), -1);
    assert_string_equal(err.message, "The page's script failed: why");
    assert_int_equal(call(&bench, input_scroll, "{\"direction\":\"down\"}", &err), -1);
    assert_string_equal(err.message, "The page's script returned no result.");
    assert_int_equal(call(&bench, input_scroll, "{\"direction\":\"left\"}", &err), -1);
    assert_string_equal(err.message, "direction must be up or down.");
    for (int i = 0; i < 3; i++)
        strbuf_appendf(&commands,
                       "%ss2 Runtime.evaluate {\"contextId\":9,\"expression\":\"(SCROLL)(%d)\","
                       "\"returnByValue\":true}\n",
                       world, i == 1 ? -500 : 500);
    end(&bench, commands.text);
}

int browser_input_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(element_is_clicked_in_its_middle),
        cmocka_unit_test(hidden_element_is_pressed_by_a_script),
        cmocka_unit_test(link_is_opened_in_a_new_tab),
        cmocka_unit_test(other_links_are_clicked),
        cmocka_unit_test(new_tab_of_a_click_is_told),
        cmocka_unit_test(element_that_is_not_there_is_an_error),
        cmocka_unit_test(text_is_set_or_typed),
        cmocka_unit_test(other_kinds_of_fields_are_filled),
        cmocka_unit_test(page_is_scrolled),
    };

    return cmocka_run_group_tests_name("sandbox/browser_input", tests, NULL, NULL);
}
