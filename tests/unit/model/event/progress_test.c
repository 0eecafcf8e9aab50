#include "model/event/progress.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "unit/model/model_test.h"

#define CONVERSATION "00000000-0000-4000-8000-00000000000a"
#define ITEM "00000000-0000-4000-8000-00000000000b"

static struct progress delta(const char *text)
{
    return (struct progress){
        .conversation_id = {CONVERSATION},
        .item_id = {ITEM},
        .kind = PROGRESS_TEXT,
        .attempt = 1,
        .order = 5,
        .text = text,
        .chunk_id = "c1",
    };
}

static json_t *parsed(const char *text, size_t len)
{
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    if (json_parse(text, len, &json, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    return json;
}

static void assert_line(const struct progress *progress, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    const size_t n_head = strlen(CONVERSATION " ");
    json_auto_t *json = NULL;

    progress_append_line(progress, &out);
    assert_memory_equal(out.text, CONVERSATION " ", n_head);
    json = parsed(out.text + n_head, out.len - n_head);
    assert_json_is(json, expected);
}

static void lines_have_what_their_kind_needs(void **state)
{
    static const size_t lengths[] = {2, 3};
    struct progress progress = delta("abcde");

    (void)state;
    assert_line(&progress, "{'item': '" ITEM "', 'kind': 'text', 'attempt': 1, 'order': 5,"
                           " 'anchor': 0, 'text': 'abcde', 'chunk': 'c1'}");
    progress.kind = PROGRESS_REASONING;
    progress.chunk_id = NULL;
    progress.lengths = lengths;
    progress.n_lengths = 1;
    assert_line(&progress, "{'item': '" ITEM "', 'kind': 'reasoning', 'attempt': 1, 'order': 5,"
                           " 'anchor': 0, 'text': 'abcde'}");
    progress.n_lengths = 2;
    assert_line(&progress, "{'item': '" ITEM "', 'kind': 'reasoning', 'attempt': 1, 'order': 5,"
                           " 'anchor': 0, 'text': 'abcde', 'lengths': [2, 3]}");
    progress = (struct progress){.conversation_id = {CONVERSATION},
                                 .item_id = {ITEM},
                                 .kind = PROGRESS_STARTED,
                                 .attempt = 2,
                                 .anchor_seq = 7,
                                 .text = ""};
    assert_line(&progress, "{'item': '" ITEM "', 'kind': 'item_started', 'attempt': 2, 'order': 0,"
                           " 'anchor': 7, 'text': ''}");
    progress.kind = PROGRESS_ABORTED;
    progress.text = "timeout";
    progress.n_attempts = 1;
    progress.retry_in_ms = 800;
    assert_line(&progress, "{'item': '" ITEM "', 'kind': 'item_aborted', 'attempt': 2, 'order': 0,"
                           " 'anchor': 7, 'text': 'timeout', 'attempts': 1, 'retry_in_ms': 800}");
    progress.gives_up_in_ms = 9000;
    assert_line(&progress, "{'item': '" ITEM "', 'kind': 'item_aborted', 'attempt': 2, 'order': 0,"
                           " 'anchor': 7, 'text': 'timeout', 'attempts': 1, 'retry_in_ms': 800,"
                           " 'gives_up_in_ms': 9000}");
    progress = (struct progress){.conversation_id = {CONVERSATION},
                                 .item_id = {ITEM},
                                 .kind = PROGRESS_TOOL,
                                 .anchor_seq = 7,
                                 .text = "half",
                                 .done = 0.5};
    assert_line(&progress, "{'item': '" ITEM "', 'kind': 'tool_progress', 'attempt': 0,"
                           " 'order': 0, 'anchor': 7, 'text': 'half', 'progress': 0.5}");
    progress.total = 1.5;
    assert_line(&progress, "{'item': '" ITEM "', 'kind': 'tool_progress', 'attempt': 0,"
                           " 'order': 0, 'anchor': 7, 'text': 'half', 'progress': 0.5,"
                           " 'total': 1.5}");
}

static void a_line_reads_back(void **state)
{
    static const char text[] =
        "{\"item\":\"" ITEM "\",\"kind\":\"item_aborted\",\"attempt\":2,\"order\":3,\"anchor\":4,"
        "\"text\":\"t\",\"chunk\":\"c\",\"attempts\":5,\"retry_in_ms\":6,"
        "\"gives_up_in_ms\":7,\"progress\":0.5,\"total\":8}";
    json_auto_t *json = NULL;
    struct progress progress = {.conversation_id = {CONVERSATION}};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(progress_read(text, strlen(text), &json, &progress, &err), 0);
    assert_string_equal(progress.conversation_id.text, CONVERSATION);
    assert_string_equal(progress.item_id.text, ITEM);
    assert_int_equal(progress.kind, PROGRESS_ABORTED);
    assert_int_equal(progress.attempt, 2);
    assert_int_equal(progress.order, 3);
    assert_int_equal(progress.anchor_seq, 4);
    assert_string_equal(progress.text, "t");
    assert_string_equal(progress.chunk_id, "c");
    assert_int_equal(progress.n_attempts, 5);
    assert_int_equal(progress.retry_in_ms, 6);
    assert_int_equal(progress.gives_up_in_ms, 7);
    assert_true(progress.done == 0.5 && progress.total == 8);
}

static void each_kind_reads_back_and_the_rest_has_defaults(void **state)
{
    static const struct {
        const char *text;
        enum progress_kind kind;
    } cases[] = {
        {"{\"item\":\"" ITEM "\",\"kind\":\"item_started\"}", PROGRESS_STARTED},
        {"{\"item\":\"" ITEM "\",\"kind\":\"text\"}", PROGRESS_TEXT},
        {"{\"item\":\"" ITEM "\",\"kind\":\"reasoning\"}", PROGRESS_REASONING},
        {"{\"item\":\"" ITEM "\",\"kind\":\"item_aborted\"}", PROGRESS_ABORTED},
        {"{\"item\":\"" ITEM "\",\"kind\":\"tool_progress\"}", PROGRESS_TOOL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *json = NULL;
        struct progress progress = {.order = 9};
        struct error err = ERROR_INIT;

        assert_int_equal(
            progress_read(cases[i].text, strlen(cases[i].text), &json, &progress, &err), 0);
        assert_int_equal(progress.kind, cases[i].kind);
        assert_int_equal(progress.attempt, 1);
        assert_int_equal(progress.order, 0);
        assert_int_equal(progress.anchor_seq, 0);
        assert_string_equal(progress.text, "");
        assert_null(progress.chunk_id);
        assert_int_equal(progress.n_attempts, 0);
        assert_int_equal(progress.retry_in_ms, 0);
        assert_int_equal(progress.gives_up_in_ms, 0);
    }
}

static void damaged_lines_are_refused(void **state)
{
    static const char *const cases[] = {
        "",
        "{",
        "[]",
        "{\"item\":\"" ITEM "\"}",
        "{\"item\":\"" ITEM "\",\"kind\":\"texts\"}",
        "{\"kind\":\"text\"}",
        "{\"item\":\"x\",\"kind\":\"text\"}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *json = NULL;
        struct progress progress = {.order = 9};
        struct error err = ERROR_INIT;

        assert_int_equal(progress_read(cases[i], strlen(cases[i]), &json, &progress, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_null(json);
        assert_int_equal(progress.order, 9);
    }
}

static void a_line_is_split_into_its_chunks(void **state)
{
    static const struct {
        const char *line; /* the lengths */
        const char *text;
        const char *chunks; /* joined with "|" */
    } cases[] = {
        {"{}", "abcde", "abcde"},
        {"{}", "", ""},
        {"{'lengths': [2, 3]}", "abcde", "ab|cde"},
        {"{'lengths': [2, 0, 1, 2]}", "abcde", "ab||c|de"},
        /* the last one is the rest */
        {"{'lengths': [2, 1]}", "abcde", "ab|cde"},
        {"{'lengths': [2, 9]}", "abcde", "ab|cde"},
        {"{'lengths': [9, 1, 1]}", "abcde", "abcde||"},
        {"{'lengths': [-1, 1]}", "abcde", "abcde|"},
        {"{'lengths': [5, 1]}", "abcde", "abcde|"},
        {"{'lengths': [7]}", "abcde", "abcde"},
        {"{'lengths': []}", "abcde", "abcde"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf joined = STRBUF_INIT;
        json_auto_t *json = json_of(cases[i].line);
        const struct progress line = delta(cases[i].text);
        CLEANUP(progress_chunks_done) struct progress_chunks chunks =
            progress_chunks_of(json, &line);
        struct progress chunk = {.order = 0};
        int64_t n = 0;

        while (progress_next_chunk(&chunks, &line, &chunk)) {
            strbuf_appendf(&joined, "%s%s", n > 0 ? "|" : "", chunk.text);
            assert_int_equal(chunk.order, 5 + n);
            assert_string_equal(chunk.item_id.text, ITEM);
            assert_string_equal(chunk.chunk_id, "c1");
            n++;
        }
        assert_string_equal(joined.text, cases[i].chunks);
    }
    progress_chunks_done(NULL);
}

static void assert_frame(const struct progress *progress, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    json_auto_t *json = NULL;

    progress_append_frame(progress, &out);
    json = parsed(out.text, out.len);
    assert_json_is(json, expected);
}

static void frames_of_tools_name_the_call(void **state)
{
    struct progress progress = {
        .item_id = {ITEM}, .kind = PROGRESS_TOOL, .anchor_seq = 7, .text = "", .done = 0.5};

    (void)state;
    assert_frame(&progress, "{'type': 'tool_progress', 'action_id': '" ITEM "', 'progress': 0.5}");
    progress.total = 1.5;
    progress.text = "half";
    assert_frame(&progress, "{'type': 'tool_progress', 'action_id': '" ITEM
                            "', 'progress': 0.5, 'total': 1.5, 'message': 'half'}");
}

static void frames_have_what_their_kind_needs(void **state)
{
    struct progress progress = delta("abc");

    (void)state;
    assert_frame(&progress, "{'type': 'delta', 'item_id': '" ITEM "', 'attempt': 1, 'order': 5,"
                            " 'kind': 'text', 'content': 'abc', 'chunk_id': 'c1',"
                            " 'choice_index': 0}");
    progress.kind = PROGRESS_REASONING;
    progress.chunk_id = NULL;
    progress.anchor_seq = 3;
    assert_frame(&progress, "{'type': 'delta', 'item_id': '" ITEM "', 'attempt': 1, 'order': 5,"
                            " 'kind': 'reasoning', 'content': 'abc', 'choice_index': 0}");
    progress = (struct progress){.item_id = {ITEM}, .kind = PROGRESS_STARTED, .attempt = 2};
    assert_frame(&progress, "{'type': 'item_started', 'item_id': '" ITEM "', 'attempt': 2}");
    progress.anchor_seq = 1;
    assert_frame(&progress,
                 "{'type': 'item_started', 'item_id': '" ITEM "', 'attempt': 2, 'anchor_seq': 0}");
    progress = (struct progress){
        .item_id = {ITEM}, .kind = PROGRESS_ABORTED, .attempt = 2, .text = "why", .anchor_seq = 1};
    assert_frame(&progress,
                 "{'type': 'item_aborted', 'item_id': '" ITEM "', 'attempt': 2, 'reason': 'why'}");
    progress.n_attempts = 5;
    progress.retry_in_ms = 800;
    assert_frame(&progress, "{'type': 'item_aborted', 'item_id': '" ITEM
                            "', 'attempt': 2, 'reason': 'why', 'attempts': 5, 'retry_in_ms': 800}");
    progress.gives_up_in_ms = 9000;
    assert_frame(&progress, "{'type': 'item_aborted', 'item_id': '" ITEM
                            "', 'attempt': 2, 'reason': 'why', 'attempts': 5, 'retry_in_ms': 800,"
                            " 'gives_up_in_ms': 9000}");
}

static void a_delta_is_also_an_event(void **state)
{
    static const struct {
        enum progress_kind kind;
        const char *expected;
    } cases[] = {
        {PROGRESS_TEXT, "{'kind': 'StreamingDeltaEvent', 'source': 'agent', 'content': 'abc',"
                        " 'timestamp': '1970-01-01T00:00:01.000002'}"},
        {PROGRESS_REASONING,
         "{'kind': 'StreamingDeltaEvent', 'source': 'agent', 'reasoning_content': 'abc',"
         " 'timestamp': '1970-01-01T00:00:01.000002'}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        struct progress progress = delta("abc");
        struct uuid id = UUID_INIT;
        json_auto_t *json = NULL;

        progress.kind = cases[i].kind;
        progress_append_event(&progress, 1000002, &out);
        json = parsed(out.text, out.len);
        assert_true(uuid_parse(json_text_or(json, "id", ""), &id));
        assert_string_not_equal(id.text, ITEM);
        (void)json_object_del(json, "id");
        assert_json_is(json, cases[i].expected);
    }
}

int progress_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_have_what_their_kind_needs),
        cmocka_unit_test(a_line_reads_back),
        cmocka_unit_test(each_kind_reads_back_and_the_rest_has_defaults),
        cmocka_unit_test(damaged_lines_are_refused),
        cmocka_unit_test(a_line_is_split_into_its_chunks),
        cmocka_unit_test(frames_of_tools_name_the_call),
        cmocka_unit_test(frames_have_what_their_kind_needs),
        cmocka_unit_test(a_delta_is_also_an_event),
    };

    return cmocka_run_group_tests_name("model/progress", tests, NULL, NULL);
}
