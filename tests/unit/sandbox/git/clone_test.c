/*
 * Clones: where they go, what they keep and refuse. ssh is a script that runs git's command here.
 */
#include "sandbox/git/clone.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "sandbox/actions/repository_tool.h"
#include "sandbox/git/credentials.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/git/git_tests.h"

/* A repository "app" with the branches main and dev, which git@host and https://host lead to. */
static int set_up(void **state)
{
    struct action_bench *bench = NULL;

    if (action_bench_set_up(state) != 0)
        return -1;
    bench = *state;
    bench_shell(bench, "git init -q -b main ../app; cd ../app; echo x > a; git add a;"
                       "git commit -q -m 1; git branch -q dev");
    bench_shell(bench, "printf '#!/bin/sh\\nfor last; do :; done; eval \"$last\"\\n' > ../ssh;"
                       "chmod +x ../ssh");
    bench_shell(bench,
                bench_text(bench, "git config --global url.file://%s/.insteadOf https://host/",
                           bench->folder));
    assert_int_equal(setenv("GIT_SSH_COMMAND", bench_text(bench, "%s/ssh", bench->folder), 1), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)unsetenv("GIT_SSH_COMMAND");
    (void)unsetenv("GIT_ALLOW_PROTOCOL");
    (void)unsetenv("GIT_TRACE2_EVENT");
    return action_bench_tear_down(state);
}

static struct clone_order order_of(struct action_bench *bench)
{
    return (struct clone_order){.url = bench_text(bench, "git@host:%s/app", bench->folder),
                                .folder = bench->workspace,
                                .credentials = bench->server.credentials};
}

static const char *git_line(struct action_bench *bench, const char *folder, const char *command)
{
    return bench_shell_line(bench, bench_text(bench, "git -C %s %s", folder, command));
}

static void clone_is_made_on_a_new_branch(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(clone_result_done) struct clone_result result = CLONE_RESULT_INIT;
    const struct clone_order order = order_of(bench);
    struct error err = ERROR_INIT;
    const char *branch = NULL;

    assert_int_equal(clone_run(&order, &result, &err), 0);
    assert_false(result.was_there);
    assert_string_equal(result.path.text, bench_path(bench, "app"));
    assert_string_equal(result.problem.text, "");
    assert_file(bench, "app/a", "x\n");
    branch = git_line(bench, "app", "symbolic-ref --short HEAD");
    assert_int_equal(strncmp(branch, "openhands-workspace-", 20), 0);
    assert_int_equal(strlen(branch), 20 + 22);
    assert_int_equal(strspn(branch + 20, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "abcdefghijklmnopqrstuvwxyz"),
                     22);
    assert_string_equal(git_line(bench, "app", "remote get-url origin"), order.url);
    assert_string_equal(bench_shell_line(bench, "ls -A"), "app");
    /* Without a credential git keeps asking whom it asked before. */
    assert_string_equal(bench_shell_line(bench, "git -C app config --get-regexp '^credential' || "
                                                "echo none"),
                        "none");
}

static void branch_and_name_may_be_given(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(clone_result_done) struct clone_result named = CLONE_RESULT_INIT;
    CLEANUP(clone_result_done) struct clone_result here = CLONE_RESULT_INIT;
    struct clone_order order = order_of(bench);
    struct error err = ERROR_INIT;

    order.branch = "dev";
    order.name = "other";
    order.folder = bench_path(bench, "deep/er//");
    assert_int_equal(clone_run(&order, &named, &err), 0);
    assert_string_equal(named.path.text, bench_path(bench, "deep/er/other"));
    assert_string_equal(git_line(bench, "deep/er/other", "symbolic-ref --short HEAD"), "dev");
    order.name = ".";
    order.folder = bench_path(bench, "here");
    assert_int_equal(clone_run(&order, &here, &err), 0);
    assert_string_equal(here.path.text, bench_path(bench, "here"));
    assert_file(bench, "here/a", "x\n");
    assert_string_equal(bench_shell_line(bench, "ls -A | tr '\\n' ' '"), "deep here ");
}

static void missing_branch_is_a_problem_of_a_kept_clone(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(clone_result_done) struct clone_result result = CLONE_RESULT_INIT;
    CLEANUP(clone_result_done) struct clone_result again = CLONE_RESULT_INIT;
    struct clone_order order = order_of(bench);
    struct error err = ERROR_INIT;

    order.branch = "none";
    assert_int_equal(clone_run(&order, &result, &err), 0);
    assert_int_equal(strncmp(result.problem.text, "git checkout: ", 14), 0);
    assert_file(bench, "app/a", "x\n");
    assert_int_equal(clone_run(&order, &again, &err), 0);
    assert_true(again.was_there);
    assert_int_equal(strncmp(again.problem.text, "git checkout: ", 14), 0);
}

static void existing_clone_stays(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(clone_result_done) struct clone_result first = CLONE_RESULT_INIT;
    CLEANUP(clone_result_done) struct clone_result second = CLONE_RESULT_INIT;
    CLEANUP(clone_result_done) struct clone_result third = CLONE_RESULT_INIT;
    struct clone_order order = order_of(bench);
    struct error err = ERROR_INIT;
    const char *branch = NULL;

    assert_int_equal(clone_run(&order, &first, &err), 0);
    branch = git_line(bench, "app", "symbolic-ref --short HEAD");
    bench_write(bench, "app/mine", "x");
    assert_int_equal(clone_run(&order, &second, &err), 0);
    assert_true(second.was_there);
    assert_string_equal(second.path.text, bench_path(bench, "app"));
    assert_string_equal(git_line(bench, "app", "symbolic-ref --short HEAD"), branch);
    order.branch = "dev";
    assert_int_equal(clone_run(&order, &third, &err), 0);
    assert_true(third.was_there);
    assert_string_equal(third.problem.text, "");
    assert_string_equal(git_line(bench, "app", "symbolic-ref --short HEAD"), "dev");
    assert_file(bench, "app/mine", "x");
}

static void folder_in_use_is_a_conflict(void **state)
{
    static const struct {
        const char *script;
        const char *message; /* after the path; NULL: there is no conflict */
    } cases[] = {
        {"echo x > app", " is not a folder"},
        {"ln -s ../app app", " is not a folder"},
        {"mkdir app; echo x > app/x", " contains other files"},
        {"git init -q app; echo x > app/x", " contains another repository"},
        {"git init -q app; git -C app commit -q --allow-empty -m x",
         " contains another repository"},
        {"git init -q app; git -C app remote add origin https://host/other",
         " contains another repository"},
        {"mkdir app", NULL},
        {"git init -q app", NULL},
    };
    struct action_bench *bench = *state;
    const struct clone_order order = order_of(bench);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(clone_result_done) struct clone_result result = CLONE_RESULT_INIT;
        struct error err = ERROR_INIT;

        bench_shell(bench, "rm -rf app");
        bench_shell(bench, cases[i].script);
        if (cases[i].message == NULL) {
            assert_int_equal(clone_run(&order, &result, &err), 0);
            assert_false(result.was_there);
            assert_file(bench, "app/a", "x\n");
            continue;
        }
        assert_int_equal(clone_run(&order, &result, &err), -1);
        if (err.code != ERROR_CONFLICT)
            fail_msg("case %zu: %s", i, err.message);
        assert_string_equal(err.message,
                            bench_text(bench, "%s/app%s", bench->workspace, cases[i].message));
    }
}

static void order_that_is_wrong_is_refused(void **state)
{
    struct action_bench *bench = *state;
    const struct clone_order good = order_of(bench);
    struct clone_order orders[9] = {good, good, good, good, good, good, good, good, good};
    static const char *const messages[] = {
        "That is not the URL of a git repository",     "That is not the URL of a git repository",
        "The URL must not contain a password",         "That is not a valid branch name",
        "The folder must be an absolute path",         "The folder must be an absolute path",
        "The name must be a single folder name",       "The name must be a single folder name",
        "The URL does not end with a repository name",
    };

    orders[0].url = "ext::sh";
    orders[1].url = "/etc";
    orders[2].url = "https://user:token@host/app";
    orders[3].branch = "-x";
    orders[4].folder = "x";
    orders[5].folder = "/";
    orders[6].name = "..";
    orders[7].name = "a/b";
    orders[8].url = "https://host/.git";
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        CLEANUP(clone_result_done) struct clone_result result = CLONE_RESULT_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(clone_run(&orders[i], &result, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_string_equal(err.message, messages[i]);
    }
    assert_string_equal(bench_shell_line(bench, "ls -A"), "");
}

/* Nobody could answer. */
static void ssh_asks_no_questions(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(clone_result_done) struct clone_result result = CLONE_RESULT_INIT;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    CLEANUP(mem_freep) char *path = mem_dup_text(getenv("PATH"));
    const struct clone_order order = order_of(bench);
    struct error err = ERROR_INIT;
    int rc = -1;

    bench_shell(bench, "mkdir ../bin; mv ../ssh ../bin/ssh; sed -i '2i echo \"$*\" >> ../said' "
                       "../bin/ssh");
    assert_int_equal(unsetenv("GIT_SSH_COMMAND"), 0);
    assert_int_equal(setenv("PATH", bench_text(bench, "%s/bin:%s", bench->folder, path), 1), 0);
    rc = clone_run(&order, &result, &err);
    assert_int_equal(setenv("PATH", path, 1), 0);
    assert_int_equal(rc, 0);
    assert_string_equal(
        bench_shell_line(bench, "grep -c -e '-oBatchMode=yes -oConnectTimeout=20 ' ../said"), "1");
}

struct cloning {
    const struct clone_order *order;
    struct clone_result result;
    struct error err;
    int rc;
};

static void *clone_in_thread(void *context)
{
    struct cloning *cloning = context;

    cloning->rc = clone_run(cloning->order, &cloning->result, &cloning->err);
    return NULL;
}

/* Whether somebody waits for a lock of that file. proc(5), /proc/locks. */
static bool is_awaited(ino_t inode)
{
    CLEANUP(strbuf_done) struct strbuf locks = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf place = STRBUF_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(file_read("/proc/locks", 1 << 20, &locks, &err), 0);
    strbuf_appendf(&place, ":%llu ", (unsigned long long)inode);
    for (const char *at = strstr(locks.text, "-> "); at != NULL; at = strstr(at + 1, "-> ")) {
        const char *found = strstr(at, place.text);

        if (found != NULL && found < at + strcspn(at, "\n"))
            return true;
    }
    return false;
}

/* What the first one makes, the second one finds. */
static void clones_into_one_folder_are_made_one_after_the_other(void **state)
{
    struct action_bench *bench = *state;
    const struct clone_order order = order_of(bench);
    struct cloning cloning = {.order = &order, .result = CLONE_RESULT_INIT};
    CLEANUP(fd_close) int lock = open(bench->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int64_t deadline_ms = clock_monotonic_ms() + 60000;
    struct stat info = {0};
    pthread_t thread = 0;

    assert_int_equal(fstat(lock, &info), 0);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_int_equal(pthread_create(&thread, NULL, clone_in_thread, &cloning), 0);
    while (!is_awaited(info.st_ino))
        assert_true(clock_monotonic_ms() < deadline_ms);
    bench_shell(bench, bench_text(bench,
                                  "git clone -q -b dev file://%s/app app; "
                                  "git -C app remote set-url origin %s",
                                  bench->folder, order.url));
    fd_close(&lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(cloning.rc, 0);
    assert_true(cloning.result.was_there);
    assert_string_equal(git_line(bench, "app", "symbolic-ref --short HEAD"), "dev");
    clone_result_done(&cloning.result);
}

/* Of a clone that the end of its process cut off. */
static void folder_of_an_earlier_clone_is_used_anew(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(clone_result_done) struct clone_result result = CLONE_RESULT_INIT;
    const struct clone_order order = order_of(bench);
    struct error err = ERROR_INIT;

    bench_shell(bench, "mkdir -p .deft-clone-app/.git; touch .deft-clone-app/left");
    assert_int_equal(clone_run(&order, &result, &err), 0);
    assert_string_equal(bench_shell_line(bench, "ls -A"), "app");
    assert_string_equal(bench_shell_line(bench, "ls app"), "a");
}

static void failed_clone_leaves_nothing(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(clone_result_done) struct clone_result result = CLONE_RESULT_INIT;
    CLEANUP(clone_result_done) struct clone_result other = CLONE_RESULT_INIT;
    struct clone_order order = order_of(bench);
    struct error err = ERROR_INIT;

    order.url = "git@host:/none";
    assert_int_equal(clone_run(&order, &result, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_int_equal(strncmp(err.message, "git clone: ", 11), 0);
    /* git's configuration must not lead to other protocols. */
    order.url = "https://host/app";
    assert_int_equal(clone_run(&order, &other, &err), -1);
    assert_non_null(strstr(err.message, "transport 'file' not allowed"));
    assert_string_equal(bench_shell_line(bench, "ls -A"), "");
}

static void credential_makes_the_clone_ask_the_server(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(clone_result_done) struct clone_result result = CLONE_RESULT_INIT;
    CLEANUP(clone_result_done) struct clone_result again = CLONE_RESULT_INIT;
    struct clone_order order = order_of(bench);
    struct error err = ERROR_INIT;
    const char *helper = NULL;

    assert_int_equal(setenv("GIT_ALLOW_PROTOCOL", "https:file", 1), 0);
    order.url = "https://host/app";
    order.branch = "main";
    assert_int_equal(clone_run(&order, &result, &err), 0);
    assert_string_equal(bench_shell_line(bench, "git -C app config --get-regexp '^credential' || "
                                                "echo none"),
                        "none");
    /* It came later. */
    assert_int_equal(
        credentials_keep(bench->server.credentials,
                         &(struct credential_order){"https://host", "ann", "correct-horse", 60000},
                         &err),
        0);
    assert_int_equal(clone_run(&order, &again, &err), 0);
    assert_true(again.was_there);
    assert_string_equal(
        git_line(bench, "app", "config --get-all credential.https://host.helper | head -1"), "");
    helper = git_line(bench, "app", "config --get credential.https://host.helper");
    assert_int_equal(helper[0], '!');
    assert_non_null(strstr(helper, "sandbox-git-test' git-credential"));
    assert_string_equal(
        git_line(bench, "app",
                 "config --file=.git/deft-credentials --get credential.https://host.helper"),
        helper);
    assert_string_equal(bench_shell_line(bench, "git config --global --get-regexp '^includeif'"),
                        bench_text(bench,
                                   "includeif.gitdir:%s/app/.git/modules/.path "
                                   "%s/app/.git/deft-credentials",
                                   bench->workspace, bench->workspace));
}

/* git's own trace shows what it is started with. */
static void credential_is_offered_to_the_clone_itself(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(clone_result_done) struct clone_result one = CLONE_RESULT_INIT;
    CLEANUP(clone_result_done) struct clone_result two = CLONE_RESULT_INIT;
    struct clone_order order = order_of(bench);
    const char *count = "grep '\"clone\"' ../trace | grep -c 'credential.https://host.helper=!'";
    struct error err = ERROR_INIT;

    assert_int_equal(setenv("GIT_ALLOW_PROTOCOL", "https:file", 1), 0);
    assert_int_equal(setenv("GIT_TRACE2_EVENT", bench_text(bench, "%s/trace", bench->folder), 1),
                     0);
    order.url = "https://host/app";
    assert_int_equal(clone_run(&order, &one, &err), 0);
    assert_string_equal(bench_shell_line(bench, bench_text(bench, "%s || :", count)), "0");
    assert_int_equal(
        credentials_keep(bench->server.credentials,
                         &(struct credential_order){"https://host", "ann", "correct-horse", 60000},
                         &err),
        0);
    order.name = "two";
    assert_int_equal(clone_run(&order, &two, &err), 0);
    assert_int_equal(unsetenv("GIT_TRACE2_EVENT"), 0);
    assert_string_not_equal(bench_shell_line(bench, bench_text(bench, "%s || :", count)), "0");
}

/* --- the tool --- */

static json_t *run_tool(struct action_bench *bench, json_t *args)
{
    const struct repository_call call = {args, bench->workspace, bench->server.credentials};

    return repository_tool_run(&call);
}

static void assert_tool(struct action_bench *bench, const char *args, const char *path,
                        const char *expected)
{
    json_auto_t *given = json_loads(args, 0, NULL);
    json_auto_t *observation = run_tool(bench, given);
    char *text = json_dumps(observation, 0);

    assert_json_at(text, path, expected);
    free(text);
}

static void steps_of_the_tool_are_observed(void **state)
{
    struct action_bench *bench = *state;
    const char *clone =
        bench_text(bench, "{\"step\":\"clone\",\"url\":\"git@host:%s/app\",\"branch\":\"dev\"}",
                   bench->folder);
    const char *head = bench_shell_line(bench, "git -C ../app rev-parse HEAD");
    const char *app = bench_path(bench, "app");

    assert_tool(bench, clone, "",
                bench_text(bench,
                           "{\"path\":\"%s\",\"has_setup\":false,\"branch\":\"dev\",\"commit\":"
                           "\"%s\",\"was_there\":false,\"content\":[{\"type\":\"text\",\"text\":"
                           "\"Cloned into %s.\",\"cache_prompt\":false}],\"is_error\":false,"
                           "\"kind\":\"RepositoryObservation\"}",
                           app, head, app));
    bench_write(bench, "app/.openhands/setup.sh", "");
    assert_tool(bench, clone, "has_setup", "true");
    assert_tool(bench, clone, "was_there", "true");
    assert_tool(bench, clone, "content[0].text",
                bench_text(bench, "\"The repository is already in %s.\"", app));
    assert_tool(bench, "{\"step\":\"clone\"}", "content[0].text",
                "\"That is not the URL of a git repository\"");
    assert_tool(bench, "{\"step\":\"clone\"}", "is_error", "true");
    assert_tool(bench, "{\"step\":\"hooks\"}", "is_installed", "false");
    assert_tool(bench, "{\"step\":\"hooks\"}", "content[0].text",
                "\"The repository has no pre-commit script.\"");
    assert_tool(bench, "{\"step\":\"init\"}", "content[0].text",
                bench_text(bench, "\"%s is a repository.\"", bench->workspace));
    assert_tool(bench, "{\"step\":\"init\"}", "branch", "\"main\"");
    assert_tool(bench, "{\"step\":\"init\"}", "commit", NULL);
    assert_tool(bench, "{\"step\":\"init\"}", "path",
                bench_text(bench, "\"%s\"", bench->workspace));
    /* Once, so that the user's file does not grow. */
    assert_string_equal(
        bench_shell_line(bench, "git config --global --get-all safe.directory | tr '\\n' ' '"),
        bench_text(bench, "%s ", bench->workspace));
    bench_write(bench, ".openhands/pre-commit.sh", "");
    assert_tool(bench, "{\"step\":\"hooks\"}", "is_installed", "true");
    assert_tool(bench, "{\"step\":\"hooks\"}", "content[0].text",
                "\"The pre-commit hook is installed.\"");
}

static void tool_has_three_steps_and_a_time_limit(void **state)
{
    static const struct {
        const char *args;
        int64_t deadline_ms;
    } cases[] = {
        {"{}", 600000},
        {"{\"timeout_ms\":1}", 1},
        {"{\"timeout_ms\":0}", 3600000},
        {"{\"timeout_ms\":3599999}", 3599999},
        {"{\"timeout_ms\":3600001}", 3600000},
    };
    static const char *const steps[] = {"clone", "init", "hooks"};
    struct error err = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *args = json_loads(cases[i].args, 0, NULL);

        assert_int_equal(repository_tool_deadline_ms(args), cases[i].deadline_ms);
    }
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        json_auto_t *args = json_build(&err, "{s:s}", "step", steps[i]);

        assert_int_equal(repository_tool_check(args, &err), 0);
    }
    assert_int_equal(repository_tool_check(NULL, &err), -1);
    assert_string_equal(err.message, "args.step must be clone, init or hooks");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int clone_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(clone_is_made_on_a_new_branch),
        TEST(branch_and_name_may_be_given),
        TEST(missing_branch_is_a_problem_of_a_kept_clone),
        TEST(existing_clone_stays),
        TEST(folder_in_use_is_a_conflict),
        TEST(order_that_is_wrong_is_refused),
        TEST(ssh_asks_no_questions),
        TEST(clones_into_one_folder_are_made_one_after_the_other),
        TEST(folder_of_an_earlier_clone_is_used_anew),
        TEST(failed_clone_leaves_nothing),
        TEST(credential_makes_the_clone_ask_the_server),
        TEST(credential_is_offered_to_the_clone_itself),
        TEST(steps_of_the_tool_are_observed),
        cmocka_unit_test(tool_has_three_steps_and_a_time_limit),
    };

    return cmocka_run_group_tests_name("sandbox/clone", tests, NULL, NULL);
}
