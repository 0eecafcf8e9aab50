/*
 * The commands of hooks, run by the routes of a whole server.
 */
#include "sandbox/actions/hook_tool.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/fork_task.h"
#include "unit/sandbox/actions/action_tests.h"
#include "unit/sandbox/terminal/terminal_calls.h"

#define HOOK(more) "{\"tool\":\"hook\",\"args\":{\"input\":\"\",\"timeout\":30," more "}}"
#define COMMAND(command) HOOK("\"command\":\"" command "\"")

/* Holds the file "lock" until the last program of the hook has ended. */
#define LOCK "exec 9>lock; flock 9; "
#define UNLOCKED "flock lock true"
#define LOCKED "! flock -n lock true"

static struct bench_reply run(struct action_bench *bench, const char *body)
{
    return bench_ask(bench, bench_text(bench, "PUT /actions/hook-%zu", bench->n_texts),
                     CALLS_HEADERS, body);
}

#define assert_hook(bench, body, path, expected)                                                   \
    do {                                                                                           \
        CLEANUP(bench_reply_done) struct bench_reply reply_ = run((bench), (body));                \
                                                                                                   \
        assert_reply(reply_, 200, "observation" path, (expected));                                 \
    } while (0)

/* A member of the observation; the caller frees it. */
static char *text_at(const struct bench_reply *reply, const char *name)
{
    json_auto_t *body = json_loads(reply->body.text, 0, NULL);
    const json_t *observation = json_object_get(body, "observation");

    return mem_dup_text(json_text_or(observation, name, "(none)"));
}

/* --- arguments --- */

static void malformed_arguments_are_named(void **state)
{
    struct action_bench *bench = *state;
    static const struct {
        const char *args;
        const char *detail;
    } rows[] = {
        {"{\"input\":\"\",\"timeout\":1}",
         "\"args.command must be a string of 1 to 4194304 bytes\""},
        {"{\"command\":\"\",\"input\":\"\",\"timeout\":1}",
         "\"args.command must be a string of 1 to 4194304 bytes\""},
        {"{\"command\":[\"true\"],\"input\":\"\",\"timeout\":1}",
         "\"args.command must be a string of 1 to 4194304 bytes\""},
        {"{\"command\":\"true\",\"timeout\":1}",
         "\"args.input must be a string of at most 16777216 bytes\""},
        {"{\"command\":\"true\",\"input\":7,\"timeout\":1}",
         "\"args.input must be a string of at most 16777216 bytes\""},
        {"{\"command\":\"true\",\"input\":\"\"}",
         "\"args.timeout must be an integer from 1 to 3600\""},
        {"{\"command\":\"true\",\"input\":\"\",\"timeout\":0}",
         "\"args.timeout must be an integer from 1 to 3600\""},
        {"{\"command\":\"true\",\"input\":\"\",\"timeout\":3601}",
         "\"args.timeout must be an integer from 1 to 3600\""},
        {"{\"command\":\"true\",\"input\":\"\",\"timeout\":1.5}",
         "\"args.timeout must be an integer from 1 to 3600\""},
        {"{\"command\":\"true\",\"input\":\"\",\"timeout\":1,\"async\":1}",
         "\"args.async must be a boolean\""},
        {"{\"command\":\"true\",\"input\":\"\",\"timeout\":1,\"env\":{\"a b\":\"\"}}",
         "\"args: env must map variable names to strings\""},
        {"{\"command\":\"true\",\"input\":\"\",\"timeout\":1,\"env\":{\"A\":1}}",
         "\"args: env must map variable names to strings\""},
        {"{\"command\":\"true\",\"input\":\"\",\"timeout\":1,\"env\":[]}",
         "\"args: env must be an object of at most 256 variables\""},
        {"{\"command\":\"true\",\"input\":\"\",\"timeout\":1,\"stdin\":\"\"}",
         "\"args may only have command, input, env, timeout and async\""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_answers(bench, "PUT /actions/h1", CALLS_HEADERS,
                       bench_text(bench, "{\"tool\":\"hook\",\"args\":%s}", rows[i].args), 400,
                       "detail", rows[i].detail);
    assert_hook(bench,
                "{\"tool\":\"hook\",\"args\":{\"command\":\"true\",\"input\":\"\",\"timeout\":3600,"
                "\"env\":null,\"async\":null}}",
                ".exit_code", "0");
}

static void sizes_are_bounded(void **state)
{
    struct action_bench *bench = *state;
    static const struct {
        const char *before;
        size_t n;
        const char *after;
        int status;
    } rows[] = {
        {"{\"tool\":\"hook\",\"args\":{\"timeout\":30,\"command\":\"true\",\"input\":\"",
         16 * 1024 * 1024, "\"}}", 200},
        {"{\"tool\":\"hook\",\"args\":{\"timeout\":30,\"command\":\"true\",\"input\":\"",
         16 * 1024 * 1024 + 1, "\"}}", 400},
        {"{\"tool\":\"hook\",\"args\":{\"timeout\":30,\"input\":\"\",\"command\":\"",
         MAX_COMMAND_BYTES, "\"}}", 200},
        {"{\"tool\":\"hook\",\"args\":{\"timeout\":30,\"input\":\"\",\"command\":\"",
         MAX_COMMAND_BYTES + 1, "\"}}", 400},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
        CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

        strbuf_append(&body, rows[i].before);
        strbuf_reserve(&body, rows[i].n);
        memset(body.text + body.len, 'x', rows[i].n);
        body.len += rows[i].n;
        strbuf_append(&body, rows[i].after);
        reply = bench_receive(bench,
                              bench_send_bytes(bench, bench_text(bench, "PUT /actions/size-%zu", i),
                                               CALLS_HEADERS, &body));
        assert_int_equal(reply.status, rows[i].status);
    }
}

/* --- what a command gets, and what is told of it --- */

static void result_is_the_whole_observation(void **state)
{
    struct action_bench *bench = *state;

    assert_hook(bench, COMMAND("echo out; echo err >&2; exit 2"), "",
                "{\"kind\":\"HookObservation\",\"exit_code\":2,\"stdout\":\"out\\n\","
                "\"stderr\":\"err\\n\",\"error\":null,\"is_error\":false,"
                "\"content\":[{\"type\":\"text\",\"text\":\"\",\"cache_prompt\":false}]}");
}

static void command_ends_with_its_exit_code(void **state)
{
    struct action_bench *bench = *state;
    static const struct {
        const char *body;
        const char *exit_code;
    } rows[] = {
        {COMMAND("exit 0"), "0"},
        {COMMAND("exit 2"), "2"},
        {COMMAND("exit 7"), "7"},
        {COMMAND("no-such-program"), "127"},
        {COMMAND("kill -TERM $$"), "143"},
        {COMMAND("kill -KILL $$"), "137"},
        {COMMAND("exec >&- 2>&-; exit 9"), "9"},
        /* The end of a child, or a stop, is not the command's end. */
        {COMMAND("true | true; (sleep 0.1; kill -CONT $$) & kill -STOP $$; wait; exit 5"), "5"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = run(bench, rows[i].body);

        assert_reply(reply, 200, "observation.exit_code", rows[i].exit_code);
        assert_reply(reply, 200, "observation.error", "null");
    }
}

static void command_gets_input_folder_and_variables(void **state)
{
    struct action_bench *bench = *state;
    static const struct {
        const char *body;
        const char *out;
    } rows[] = {
        {HOOK("\"command\":\"cat\",\"env\":{}"), "\"\""},
        {"{\"tool\":\"hook\",\"args\":{\"command\":\"cat; cat\",\"input\":\"h\u00e9llo\\n\\u0001\","
         "\"timeout\":30}}",
         "\"h\u00e9llo\\n\\u0001\""},
        {COMMAND("echo $-; [[ a == a ]] && echo ${BASH##*/}"), "\"hBc\\nbash\\n\""},
        {HOOK("\"command\":\"echo $TERM$HOME$NEW; env | grep -c ^TERM=\","
              "\"env\":{\"TERM\":\"dumb \",\"HOME\":\"/h \",\"NEW\":\"a 'b'\"}"),
         "\"dumb /h a 'b'\\n1\\n\""},
        {COMMAND("echo ${OH_SESSION_API_KEYS_0-none} ${DEFT_ACTION_PORT-none}"),
         "\"none none\\n\""},
        {COMMAND("[ $(cut -d' ' -f6 /proc/$$/stat) = $$ ] && echo leads its session"),
         "\"leads its session\\n\""},
        {COMMAND("printf 'a\\\\377b\\\\000c'"), "\"a\uFFFDb\uFFFDc\""},
    };

    assert_int_equal(setenv("OH_SESSION_API_KEYS_0", "key", 1), 0);
    assert_int_equal(setenv("DEFT_ACTION_PORT", "1", 1), 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_hook(bench, rows[i].body, ".stdout", rows[i].out);
    assert_int_equal(unsetenv("OH_SESSION_API_KEYS_0"), 0);
    assert_int_equal(unsetenv("DEFT_ACTION_PORT"), 0);
    assert_hook(bench, COMMAND("pwd"), ".stdout", bench_text(bench, "\"%s\\n\"", bench->workspace));
    assert_hook(bench,
                bench_text(bench,
                           "{\"tool\":\"hook\",\"working_dir\":\"%s/new/one\",\"args\":{"
                           "\"command\":\"pwd\",\"input\":\"\",\"timeout\":30}}",
                           bench->workspace),
                ".stdout", bench_text(bench, "\"%s/new/one\\n\"", bench->workspace));
}

static void command_that_cannot_start_is_an_error(void **state)
{
    struct action_bench *bench = *state;
    static const char body[] = "{\"tool\":\"hook\",\"working_dir\":\"/proc/none\",\"args\":{"
                               "\"command\":\"true\",\"input\":\"\",\"timeout\":30%s}}";
    static const char *const more[] = {"", ",\"async\":true"};

    for (size_t i = 0; i < ARRAY_SIZE(more); i++)
        assert_hook(bench, bench_text(bench, body, more[i]), "",
                    "{\"kind\":\"HookObservation\",\"exit_code\":-1,\"stdout\":\"\","
                    "\"stderr\":\"\",\"error\":\"The working directory /proc/none cannot be "
                    "entered: No such file or directory\",\"is_error\":false,\"content\":[{"
                    "\"type\":\"text\",\"text\":\"The working directory /proc/none cannot be "
                    "entered: No such file or directory\",\"cache_prompt\":false}]}");
}

static void unread_input_is_no_error(void **state)
{
    struct action_bench *bench = *state;
    static const struct {
        const char *command;
        const char *exit_code;
        size_t n_out;
    } rows[] = {
        {"exit 3", "3", 0},  {"exec <&-; echo x", "0", 2}, {"head -c 10", "0", 10},
        {"cat", "0", 50000}, {"cat; cat >&2", "0", 50000},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
        CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};
        CLEANUP(mem_freep) char *out = NULL;

        strbuf_appendf(&body,
                       "{\"tool\":\"hook\",\"args\":{\"command\":\"%s\",\"timeout\":30,"
                       "\"input\":\"",
                       rows[i].command);
        for (size_t n = 0; n < 100000; n++)
            strbuf_append(&body, "ten bytes.");
        strbuf_append(&body, "\"}}");
        reply = bench_receive(
            bench, bench_send_bytes(bench, bench_text(bench, "PUT /actions/input-%zu", i),
                                    CALLS_HEADERS, &body));
        assert_reply(reply, 200, "observation.exit_code", rows[i].exit_code);
        assert_reply(reply, 200, "observation.error", "null");
        out = text_at(&reply, "stdout");
        assert_int_equal(strlen(out), rows[i].n_out);
    }
}

/* --- output --- */

static void streams_are_cut_to_characters(void **state)
{
    struct action_bench *bench = *state;
    static const struct {
        const char *body;
        size_t n_bytes;
    } rows[] = {
        {COMMAND("head -c 50000 /dev/zero | tr '\\\\0' x | tee /dev/stderr"), 50000},
        {COMMAND("head -c 50001 /dev/zero | tr '\\\\0' x | tee /dev/stderr"), 50000},
        {COMMAND("head -c 60000 /dev/zero | sed 's/./\u20ac/g' | tee /dev/stderr"), 150000},
        {COMMAND("head -c 60000 /dev/zero | sed 's/./\U0001F600/g' | tee /dev/stderr"), 200000},
        /* Six bytes of JSON for each. */
        {COMMAND("head -c 60000 /dev/zero | tr '\\\\0' '\\\\1' | tee /dev/stderr"), 50000},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = run(bench, rows[i].body);
        CLEANUP(mem_freep) char *out = text_at(&reply, "stdout");
        CLEANUP(mem_freep) char *error_output = text_at(&reply, "stderr");

        assert_int_equal(strlen(out), rows[i].n_bytes);
        assert_string_equal(out, error_output);
        assert_true(utf8_is_valid(out, strlen(out)));
    }
}

static void much_output_takes_little_memory(void **state)
{
    enum { GROWTH_MAX_KB = 64 * 1024 };

    struct action_bench *bench = *state;
    struct rusage before;
    struct rusage after;

    /* The largest child so far. */
    assert_hook(bench, COMMAND("head -c 1000 /dev/zero"), ".exit_code", "0");
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &before), 0);
    {
        CLEANUP(bench_reply_done) struct bench_reply reply =
            run(bench, COMMAND("head -c 200000000 /dev/zero | tr '\\\\0' y; echo end >&2; exit 4"));
        CLEANUP(mem_freep) char *out = text_at(&reply, "stdout");

        assert_reply(reply, 200, "observation.exit_code", "4");
        assert_reply(reply, 200, "observation.stderr", "\"end\\n\"");
        assert_int_equal(strlen(out), 50000);
    }
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &after), 0);
    assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, GROWTH_MAX_KB);
}

/* Also one of which the last shown characters contain only the beginning. */
static void password_in_output_is_masked(void **state)
{
    struct action_bench *bench = *state;

    assert_answers(bench, "POST /git/credentials", "",
                   "{\"url\":\"https://git.example.org/a\",\"username\":\"u\","
                   "\"password\":\"correct-horse-battery\"}",
                   200, "success", "true");
    assert_hook(bench, COMMAND("echo correct-horse-battery"), ".stdout", "\"<secret-hidden>\\n\"");
    {
        CLEANUP(bench_reply_done) struct bench_reply reply = run(
            bench, COMMAND("head -c 49995 /dev/zero | sed 's/./😀/g'; echo correct-horse-battery"));
        CLEANUP(mem_freep) char *out = text_at(&reply, "stdout");

        assert_int_equal(strlen(out), 49995 * 4 + 5);
        assert_string_equal(out + 49995 * 4, "<secr");
    }
}

/* --- its end --- */

static void late_command_is_killed_with_its_group(void **state)
{
    struct action_bench *bench = *state;

    assert_hook(bench,
                "{\"tool\":\"hook\",\"args\":{\"input\":\"\",\"timeout\":1,\"command\":\"" LOCK
                "trap '' TERM; sleep 1000 & echo so far; echo err >&2; wait; wait\"}}",
                "",
                "{\"kind\":\"HookObservation\",\"exit_code\":-1,\"stdout\":\"so far\\n\","
                "\"stderr\":\"err\\n\",\"error\":\"The hook took longer than 1 seconds and was "
                "ended.\",\"is_error\":false,\"content\":[{\"type\":\"text\",\"text\":\"The hook "
                "took longer than 1 seconds and was ended.\",\"cache_prompt\":false}]}");
    bench_shell(bench, UNLOCKED);
}

/* One that is stopped has not ended. */
static void stopped_command_is_late(void **state)
{
    struct action_bench *bench = *state;

    assert_hook(bench,
                "{\"tool\":\"hook\",\"args\":{\"input\":\"\",\"timeout\":1,\"command\":"
                "\"kill -STOP $$\"}}",
                ".error", "\"The hook took longer than 1 seconds and was ended.\"");
}

/* Else an interrupt could kill another process that got its number. */
static void command_is_not_named_after_its_end(void **state)
{
    static const char *const folders[] = {"/", "/proc/none"};
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        json_auto_t *args =
            json_loads("{\"command\":\"true\",\"input\":\"\",\"timeout\":30}", 0, NULL);
        const struct hook_call call = {.args = args,
                                       .working_dir = folders[i],
                                       .workspace = bench->workspace,
                                       .credentials = bench->server.credentials,
                                       .session = fork_task_session_new()};
        json_auto_t *observation = NULL;

        assert_non_null(call.session);
        *call.session = -1;
        observation = hook_tool_run(&call);
        assert_int_equal(json_int_or(observation, "exit_code", 7), i == 0 ? 0 : -1);
        assert_int_equal(*call.session, 0);
        assert_int_equal(munmap(call.session, sizeof(*call.session)), 0);
    }
}

static void background_program_does_not_delay_the_result(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        run(bench, COMMAND(LOCK "sleep 1000 & echo $!; exit 6"));
    CLEANUP(mem_freep) char *out = text_at(&reply, "stdout");
    pid_t pid = (pid_t)strtol(out, NULL, 10);

    assert_reply(reply, 200, "observation.exit_code", "6");
    assert_reply(reply, 200, "observation.error", "null");
    bench_shell(bench, LOCKED);
    assert_true(pid > 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    bench_shell(bench, UNLOCKED);
}

static void background_program_that_prints_without_end_does_not_either(void **state)
{
    struct action_bench *bench = *state;

    assert_hook(bench, COMMAND("yes & yes >&2 & exit 6"), ".exit_code", "6");
}

static void detached_command_goes_on(void **state)
{
    struct action_bench *bench = *state;

    bench_shell(bench, "mkfifo go went");
    assert_hook(bench,
                "{\"tool\":\"hook\",\"args\":{\"input\":\"its input\",\"timeout\":1,\"async\":true,"
                "\"command\":\"echo out; echo err >&2; read -r x < go; readlink /proc/$$/fd/1 "
                "/proc/$$/fd/2 > outputs; cat > input; echo > went; exit 3\"}}",
                "",
                "{\"kind\":\"HookObservation\",\"exit_code\":0,\"stdout\":\"\",\"stderr\":\"\","
                "\"error\":null,\"is_error\":false,\"content\":[{\"type\":\"text\",\"text\":\"\","
                "\"cache_prompt\":false}]}");
    assert_answers(bench, "POST /conversations/" CALLS_CONVERSATION "/interrupt", "", "", 200, "",
                   "{\"success\":true}");
    assert_answers(bench, "DELETE /conversations/" CALLS_CONVERSATION, "", "", 200, "",
                   "{\"success\":true}");
    bench_shell(bench, "echo > go; read -r x < went");
    assert_file(bench, "input", "its input");
    assert_file(bench, "outputs", "/dev/null\n/dev/null\n");
}

/* Starts a hook that holds the lock, with a child that ignores most signals. */
static int begin_locked(struct action_bench *bench)
{
    int put = -1;

    bench_shell(bench, "mkfifo begun");
    put = bench_send(bench, "PUT /actions/h1", CALLS_HEADERS,
                     COMMAND(LOCK "trap '' TERM INT HUP; sleep 1000 & echo > begun; wait; wait"));
    assert_answers(bench, "GET /actions/h1", CALLS_HEADERS, NULL, 200, "state", "\"running\"");
    bench_shell(bench, "read -r x < begun");
    return put;
}

static void interrupt_ends_the_group(void **state)
{
    struct action_bench *bench = *state;
    int put = begin_locked(bench);

    assert_answers(bench, "POST /conversations/" CALLS_CONVERSATION "/interrupt", "", "", 200, "",
                   "{\"success\":true}");
    {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, put);

        assert_reply(reply, 200, "",
                     "{\"state\":\"finished\",\"observation\":{\"kind\":\"HookObservation\","
                     "\"exit_code\":-1,\"stdout\":\"\",\"stderr\":\"\",\"error\":\"The work was "
                     "interrupted\",\"is_error\":false,\"content\":[{\"type\":\"text\",\"text\":"
                     "\"The work was interrupted\",\"cache_prompt\":false}]}}");
    }
    bench_shell(bench, UNLOCKED);
}

static void end_of_the_conversation_ends_the_group(void **state)
{
    struct action_bench *bench = *state;
    int put = begin_locked(bench);

    assert_answers(bench, "DELETE /conversations/" CALLS_CONVERSATION, "", "", 200, "",
                   "{\"success\":true}");
    {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, put);

        assert_reply(reply, 200, "state", "\"interrupted\"");
    }
    bench_shell(bench, UNLOCKED);
}

static void background_program_survives_a_later_interrupt(void **state)
{
    struct action_bench *bench = *state;

    assert_hook(bench, COMMAND(LOCK "sleep 1000 & echo $! > pid"), ".exit_code", "0");
    assert_answers(bench, "POST /conversations/" CALLS_CONVERSATION "/interrupt", "", "", 200, "",
                   "{\"success\":true}");
    bench_shell(bench, LOCKED "; read -r pid < pid; kill -KILL $pid; " UNLOCKED);
}

/* --- as an action --- */

static void command_runs_once_per_action(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply first =
        bench_ask(bench, "PUT /actions/h1", CALLS_HEADERS, COMMAND("echo run >> runs; cat runs"));
    CLEANUP(bench_reply_done) struct bench_reply again =
        bench_ask(bench, "PUT /actions/h1", CALLS_HEADERS, COMMAND("echo run >> runs; cat runs"));

    assert_reply(first, 200, "observation.stdout", "\"run\\n\"");
    assert_string_equal(again.body.text, first.body.text);
    assert_file(bench, "runs", "run\n");
    assert_answers(bench, "PUT /actions/h1", CALLS_HEADERS, COMMAND("echo other"), 409, "detail",
                   "\"another action already has this id\"");
}

static void few_run_at_once_beside_other_tools(void **state)
{
    struct action_bench *bench = *state;
    int puts[MAX_HOOK_TASKS];
    int next = -1;

    bench_shell(bench, "mkfifo begun");
    for (size_t i = 0; i < ARRAY_SIZE(puts); i++) {
        bench_shell(bench, bench_text(bench, "mkfifo go%zu", i));
        puts[i] = bench_send(bench, bench_text(bench, "PUT /actions/h%zu", i), CALLS_HEADERS,
                             bench_text(bench, COMMAND("echo > begun; read -r x < go%zu"), i));
        assert_answers(bench, bench_text(bench, "GET /actions/h%zu", i), CALLS_HEADERS, NULL, 200,
                       "state", "\"running\"");
        bench_shell(bench, "read -r x < begun");
    }
    next = bench_send(bench, "PUT /actions/next", CALLS_HEADERS, COMMAND("touch next"));
    assert_answers(bench, "PUT /actions/t1", CALLS_HEADERS,
                   "{\"tool\":\"terminal\",\"args\":{\"command\":\"echo hi\"}}", 200,
                   "observation." TEXT, "\"hi\"");
    assert_answers(bench, "PUT /actions/f1", CALLS_HEADERS,
                   "{\"tool\":\"list_directory\",\"args\":{\"dir_path\":\".\"}}", 200,
                   "observation.is_error", "false");
    assert_false(bench_has(bench, "next"));
    for (size_t i = 0; i < ARRAY_SIZE(puts); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

        bench_shell(bench, bench_text(bench, "echo > go%zu", i));
        reply = bench_receive(bench, puts[i]);
        assert_reply(reply, 200, "observation.exit_code", "0");
    }
    {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, next);

        assert_reply(reply, 200, "observation.exit_code", "0");
    }
    assert_true(bench_has(bench, "next"));
}

int hook_tool_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(malformed_arguments_are_named),
        BENCH_TEST(sizes_are_bounded),
        BENCH_TEST(result_is_the_whole_observation),
        BENCH_TEST(command_ends_with_its_exit_code),
        BENCH_TEST(command_gets_input_folder_and_variables),
        BENCH_TEST(command_that_cannot_start_is_an_error),
        BENCH_TEST(unread_input_is_no_error),
        BENCH_TEST(streams_are_cut_to_characters),
        BENCH_TEST(much_output_takes_little_memory),
        BENCH_TEST(password_in_output_is_masked),
        BENCH_TEST(late_command_is_killed_with_its_group),
        BENCH_TEST(stopped_command_is_late),
        BENCH_TEST(command_is_not_named_after_its_end),
        BENCH_TEST(background_program_does_not_delay_the_result),
        BENCH_TEST(background_program_that_prints_without_end_does_not_either),
        BENCH_TEST(detached_command_goes_on),
        BENCH_TEST(interrupt_ends_the_group),
        BENCH_TEST(end_of_the_conversation_ends_the_group),
        BENCH_TEST(background_program_survives_a_later_interrupt),
        BENCH_TEST(command_runs_once_per_action),
        BENCH_TEST(few_run_at_once_beside_other_tools),
    };

    return cmocka_run_group_tests_name("sandbox/hook_tool", tests, NULL, NULL);
}
