/*
 * POST /git/credentials, and git's helper, which is this program: a real process of the sandbox
 * that asks the running server.
 */
#include "sandbox/git/credential_helper.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/git/git_tests.h"

#define KEEP "POST /git/credentials"
#define GIVEN                                                                                      \
    "{\"url\":\"https://Host:443/app\",\"username\":\"ann\",\"password\":\"correct-horse\"}"

/* Runs the helper as a command of the sandbox; its output in the reply. */
static struct bench_reply ask_helper(struct action_bench *bench, const char *before,
                                     const char *question, const char *operation)
{
    char own[PATH_MAX] = "";

    assert_true(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
    return bench_ask(bench, "POST /api/bash/execute_bash_command", "",
                     bench_text(bench, "{\"command\":\"%s printf '%s' | %s %s %s\"}", before,
                                question, own, CREDENTIAL_HELPER_WORD, operation));
}

static void helper_gets_the_credential_of_its_host_alone(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply known = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply other = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply store = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply lost = {0, STRBUF_INIT, STRBUF_INIT};

    assert_answers(bench, KEEP, "", GIVEN, 200, "", "{\"success\":true}");
    /* The output is masked, so a program counts it. */
    known =
        ask_helper(bench, "", "protocol=https\\\\nhost=host\\\\npath=x\\\\n\\\\n", "get | wc -c");
    assert_reply(known, 200, "stdout", "\"36\\n\"");
    assert_reply(known, 200, "stderr", "null");
    other = ask_helper(bench, "", "protocol=https\\\\nhost=other\\\\n\\\\n", "get");
    assert_reply(other, 200, "stdout", "\"quit=1\\n\"");
    assert_reply(other, 200, "stderr",
                 "\"There is no credential for https://other any more (the sandbox was restarted); "
                 "it must be set again.\\n\"");
    assert_reply(other, 200, "exit_code", "0");
    store = ask_helper(bench, "", "protocol=https\\\\nhost=host\\\\n\\\\n", "store");
    assert_reply(store, 200, "stdout", "null");
    assert_reply(store, 200, "stderr", "null");
    lost = ask_helper(bench, "unset GIT_CREDENTIAL_SOCKET;",
                      "protocol=https\\\\nhost=host\\\\n\\\\n", "get");
    assert_reply(lost, 200, "stdout", "\"quit=1\\n\"");
    assert_reply(lost, 200, "stderr",
                 "\"The server that keeps this sandbox's credentials is not running.\\n\"");
}

static void credential_that_is_wrong_is_refused(void **state)
{
    static const struct {
        const char *body;
        const char *detail;
    } cases[] = {
        {"{}", "\"url must be an https or http address without a password\""},
        {"{\"url\":\"ssh://host/app\",\"password\":\"correct-horse\"}",
         "\"url must be an https or http address without a password\""},
        {"{\"url\":\"https://a:b@host/app\",\"password\":\"correct-horse\"}",
         "\"url must be an https or http address without a password\""},
        {"{\"url\":\"https://host\",\"password\":\"correct-horse\",\"expires_in_s\":0}",
         "\"expires_in_s must be from 1 to 86400\""},
        {"{\"url\":\"https://host\",\"password\":\"correct-horse\",\"expires_in_s\":86401}",
         "\"expires_in_s must be from 1 to 86400\""},
        {"{\"url\":\"https://host\",\"password\":\"correct-horse\",\"username\":\"a:b\"}",
         "\"A user name must be short and without a colon\""},
    };
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_answers(bench, KEEP, "", cases[i].body, 400, "detail", cases[i].detail);
    assert_answers(bench, KEEP, "", "{", 400, "success", NULL);
    assert_answers(bench, KEEP, "",
                   "{\"url\":\"https://host\",\"password\":\"correct-horse\",\"expires_in_s\":1}",
                   200, "success", "true");
    assert_answers(
        bench, KEEP, "",
        "{\"url\":\"https://host\",\"password\":\"correct-horse\",\"expires_in_s\":86400}", 200,
        "success", "true");
}

int credential_helper_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(helper_gets_the_credential_of_its_host_alone),
        BENCH_TEST(credential_that_is_wrong_is_refused),
    };

    return cmocka_run_group_tests_name("sandbox/credential_helper", tests, NULL, NULL);
}
