/*
 * POST /programs/talk: what a program is given, and which of its lines are replies.
 */
#include "sandbox/ports/mcp_stdio.h"

#include "base/mem.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/tools_tests.h"

/* Talks to a script of sh; more: further members of the order. */
static struct bench_reply talk(struct action_bench *bench, const char *script, const char *messages,
                               const char *more)
{
    bench_write(bench, "program", bench_text(bench, "#!/bin/sh\n%s\n", script));
    bench_shell(bench, "chmod +x program");
    return bench_ask(bench, "POST /programs/talk", "",
                     bench_text(bench, "{\"command\":\"%s/program\",\"messages\":%s%s}",
                                bench->workspace, messages, more));
}

static void replies_are_told_in_order(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        talk(bench,
             "read a; echo banner; echo '{\"id\":9}'; echo '{\"id\":1,\"method\":\"ping\"}';"
             "read p; echo '{\"id\":1,\"result\":1}'; read b; read c; echo "
             "\"{\\\"id\\\":2,\\\"b\\\":$b}\"",
             "[{\"id\":1},{\"method\":\"told\"},{\"id\":2}]", "");

    assert_reply(reply, 200, "",
                 "{\"replies\":[{\"id\":1,\"result\":1},{\"id\":2,\"b\":{\"method\":\"told\"}}]}");
}

/* It waits for the answers, and answers what it was sent once it has them. */
static void questions_before_a_reply_are_answered(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        talk(bench,
             "read a; echo '{\"id\":1,\"method\":\"ping\"}'; read b;"
             "echo '{\"id\":\"e\",\"method\":\"elicitation/create\"}'; read c;"
             "echo '{\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1}}';"
             "echo \"{\\\"id\\\":1,\\\"result\\\":[$b,$c]}\"",
             "[{\"id\":1}]", "");

    assert_reply(reply, 200, "replies[0].result",
                 "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},"
                 "{\"jsonrpc\":\"2.0\",\"id\":\"e\",\"error\":{\"code\":-32601,\"message\":"
                 "\"The client does not offer this\"}}]");
}

static void program_that_asks_without_end_is_ended(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        talk(bench, "yes '{\"id\":1,\"method\":\"ping\"}'", "[{\"id\":1}]", "");

    assert_reply(reply, 400, "detail", "\"The program asks the client too much\"");
}

static void program_that_reads_nothing_is_an_error(void **state)
{
    enum { LARGE = 200000 };
    struct action_bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    strbuf_appendf(&body,
                   "{\"command\":\"sleep\",\"args\":[\"1000\"],\"timeout_ms\":300,"
                   "\"messages\":[{\"id\":1,\"x\":\"%0*d\"}]}",
                   LARGE, 0);
    reply = bench_receive(bench, bench_send_bytes(bench, "POST /programs/talk", "", &body));
    assert_reply(reply, 504, "detail", "\"The program does not read its input\"");
}

static void program_gets_arguments_folder_and_variables(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench_shell(bench, "mkdir d");
    reply = talk(bench,
                 "read a; echo \"{\\\"id\\\":1,\\\"args\\\":\\\"$1-$2\\\",\\\"cwd\\\":\\\"$PWD\\\","
                 "\\\"env\\\":\\\"$X-$HOME\\\"}\"",
                 "[{\"id\":1}]",
                 bench_text(bench,
                            ",\"args\":[\"a b\",\"c\"],\"cwd\":\"%s/d\",\"env\":{\"X\":\"x\","
                            "\"HOME\":\"own\",\"Y\":7}",
                            bench->workspace));
    assert_reply(reply, 200, "replies[0]",
                 bench_text(bench,
                            "{\"id\":1,\"args\":\"a b-c\",\"cwd\":\"%s/d\",\"env\":\"x-own\"}",
                            bench->workspace));
}

static void pages_of_a_list_are_turned(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = talk(
        bench,
        "read a; echo '{\"id\":1,\"result\":{\"nextCursor\":\"p2\"}}'; read b;"
        "echo \"{\\\"id\\\":1000,\\\"b\\\":$b,\\\"result\\\":{\\\"nextCursor\\\":\\\"p3\\\"}}\";"
        "read c; echo '{\"id\":1001,\"result\":{}}'",
        "[{\"id\":1,\"method\":\"tools/list\"}]", "");

    assert_reply(reply, 200, "replies[1].b",
                 "{\"id\":1000,\"method\":\"tools/list\",\"params\":{\"cursor\":\"p2\"}}");
    assert_reply(reply, 200, "replies[2]", "{\"id\":1001,\"result\":{}}");
    assert_reply(reply, 200, "replies[3]", NULL);
}

static void pages_are_bounded(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = talk(
        bench,
        "i=999; read a; echo '{\"id\":1,\"result\":{\"nextCursor\":\"x\"}}'; while read a; do "
        "i=$((i+1)); echo \"{\\\"id\\\":$i,\\\"result\\\":{\\\"nextCursor\\\":\\\"x\\\"}}\"; done",
        "[{\"id\":1,\"method\":\"tools/list\"}]", "");

    assert_reply(reply, 200, "replies[20].id", "1019");
    assert_reply(reply, 200, "replies[21]", NULL);
}

static void program_that_does_not_reply_is_an_error(void **state)
{
    static const struct {
        const char *script;
        const char *more;
        int status;
        const char *detail;
    } cases[] = {
        {"read a; echo ' why ' >&2", "", 400, "\"The program ended without a reply:  why\""},
        {"read a", "", 400, "\"The program ended without a reply\""},
        {"read a; read b", ",\"timeout_ms\":300", 504, "\"The program did not reply in time\""},
        {"read a", ",\"timeout_ms\":0", 504, "\"The program did not reply in time\""},
        {"head -c 5000000 /dev/zero | tr '\\0' x; read a; read b", "", 400,
         "\"The program's reply is too large\""},
    };
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply =
            talk(bench, cases[i].script, "[{\"id\":1}]", cases[i].more);

        assert_reply(reply, cases[i].status, "detail", cases[i].detail);
    }
    assert_answers(bench, "POST /programs/talk", "", "{\"command\":\"none\"}", 400, "detail",
                   "\"The sandbox has no program none\"");
    assert_answers(bench, "POST /programs/talk", "", "{\"command\":\"/none\"}", 503, "detail",
                   "\"/none: No such file or directory\"");
    assert_answers(bench, "POST /programs/talk", "", "{", 400, "replies", NULL);
    /* Without messages there is nothing to wait for; a name is looked for in PATH. */
    assert_answers(bench, "POST /programs/talk", "", "{\"command\":\"cat\"}", 200, "replies", "[]");
}

/* n times a text with its number, joined. */
static const char *repeat(struct action_bench *bench, const char *format, int n)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    for (int i = 0; i < n; i++)
        strbuf_appendf(&text, "%s\"%s%d\"%s", i > 0 ? "," : "", format, i,
                       format[0] == 'V' ? ":\"1\"" : "");
    return bench_text(bench, "%s", text.text);
}

static void arguments_variables_and_complaints_are_bounded(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    assert_answers(bench, "POST /programs/talk", "",
                   bench_text(bench,
                              "{\"command\":\"sh\",\"args\":[\"-c\",\"read a; echo "
                              "{\\\\\\\"id\\\\\\\":1,\\\\\\\"n\\\\\\\":$#,"
                              "\\\\\\\"v\\\\\\\":$(env | grep -c ^VAR)}\",%s],"
                              "\"env\":{%s},\"messages\":[{\"id\":1}]}",
                              repeat(bench, "a", 70), repeat(bench, "VAR", 70)),
                   200, "replies[0]", "{\"id\":1,\"n\":61,\"v\":64}");
    /* As long as the message of an error. */
    reply = talk(bench, "read a; printf '%0400d' 0 >&2", "[{\"id\":1}]", "");
    assert_reply(reply, 400, "detail",
                 bench_text(bench, "\"The program ended without a reply: %0220d\"", 0));
}

static void line_of_the_sandbox_is_replaced_by_the_order(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        talk(bench, "read a; echo \"{\\\"id\\\":1,\\\"n\\\":$(env | grep -c ^HOME=)}\"",
             "[{\"id\":1}]", ",\"env\":{\"HOME\":\"/\",\"HOMER\":\"x\"}");

    assert_reply(reply, 200, "replies[0].n", "1");
}

/* What is sent to it then cannot be written. */
static void program_that_closes_its_input_is_an_error(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        talk(bench, "read a; exec 0<&-; echo '{\"id\":1}'; exec sleep 60",
             "[{\"id\":1},{\"id\":2}]", "");

    assert_reply(reply, 400, "detail", "\"The program ended without a reply\"");
}

static void variable_that_is_no_text_is_not_set(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        talk(bench, "read a; echo \"{\\\"id\\\":1,\\\"n\\\":$(env | grep -c ^VAR)}\"",
             "[{\"id\":1}]", ",\"env\":{\"VAR1\":7,\"VAR2\":null,\"VAR3\":\"\"}");

    assert_reply(reply, 200, "replies[0].n", "1");
}

int mcp_replies_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(replies_are_told_in_order),
        BENCH_TEST(questions_before_a_reply_are_answered),
        BENCH_TEST(program_that_asks_without_end_is_ended),
        BENCH_TEST(program_that_reads_nothing_is_an_error),
        BENCH_TEST(program_gets_arguments_folder_and_variables),
        BENCH_TEST(pages_of_a_list_are_turned),
        BENCH_TEST(pages_are_bounded),
        BENCH_TEST(program_that_does_not_reply_is_an_error),
        BENCH_TEST(arguments_variables_and_complaints_are_bounded),
        BENCH_TEST(program_that_closes_its_input_is_an_error),
        BENCH_TEST(variable_that_is_no_text_is_not_set),
        BENCH_TEST(line_of_the_sandbox_is_replaced_by_the_order),
    };

    return cmocka_run_group_tests_name("sandbox/mcp_replies", tests, NULL, NULL);
}
