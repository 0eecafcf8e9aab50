/*
 * Members that a child conversation inherits from its parent, and the worktrees of conversations.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "model/conversation/child_conversation.h"
#include "model/conversation/conversation.h"
#include "model/conversation/sealed_secrets.h"
#include "model/conversation/worktree.h"
#include "unit/model/model_test.h"

static void make_keyring(struct keyring *keyring)
{
    CLEANUP(secret_done) struct secret root = SECRET_INIT;
    struct error err = ERROR_INIT;

    secret_set(&root, "0011223344556677889900112233445566778899001122334455667788990011");
    assert_int_equal(keyring_init(keyring, &root, &err), 0);
}

/* A parent with a goal and a secret. */
static void start_parent(const struct keyring *keyring, struct conversation *parent_out)
{
    json_auto_t *secrets = json_of("{'secrets': {'TOKEN': 'abc'}}");

    start_default(parent_out);
    json_put(parent_out->spec, "goal", json_object());
    json_put_text(parent_out->spec, "forked_from", parent_out->id.text);
    json_put(parent_out->spec, "activated_knowledge_skills", json_array());
    json_put(parent_out->spec, "project_servers", json_object());
    json_put(parent_out->spec, "project_hooks", json_true());
    json_put(parent_out->spec, "knowledge_requests", json_integer(1));
    mem_free(parent_out->secrets);
    parent_out->secrets = sealed_secrets_seal(keyring, parent_out, secrets);
}

static void child_has_agent_and_secrets_of_its_parent(void **state)
{
    CLEANUP(conversation_done) struct conversation parent = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
    struct keyring keyring;
    struct error err = ERROR_INIT;
    json_auto_t *secrets = NULL;

    (void)state;
    make_keyring(&keyring);
    start_parent(&keyring, &parent);
    json_decref(parent.stats);
    parent.stats = json_of("{'cost': 'of the parent'}");
    assert_int_equal(child_conversation_make(&keyring, &parent, "  ", &child, &err), 0);
    assert_null(json_object_get(child.stats, "cost"));
    assert_string_not_equal(child.id.text, parent.id.text);
    assert_null(child.title);
    assert_json_equal(conversation_agent(&child), conversation_agent(&parent));
    assert_null(json_object_get(child.spec, "goal"));
    assert_null(json_object_get(child.spec, "forked_from"));
    assert_null(json_object_get(child.spec, "activated_knowledge_skills"));
    assert_null(json_object_get(child.spec, "project_servers"));
    assert_null(json_object_get(child.spec, "project_hooks"));
    assert_null(json_object_get(child.spec, "knowledge_requests"));
    assert_int_equal(sealed_secrets_open(&keyring, &child, &secrets, &err), 0);
    assert_string_equal(json_text_or(json_object_get(secrets, "secrets"), "TOKEN", ""), "abc");
}

static void secrets_open_for_their_own_conversation_alone(void **state)
{
    CLEANUP(conversation_done) struct conversation parent = CONVERSATION_INIT;
    struct keyring keyring;
    struct error err = ERROR_INIT;
    json_auto_t *secrets = NULL;

    (void)state;
    make_keyring(&keyring);
    start_parent(&keyring, &parent);
    parent.id = uuid_random();
    assert_int_equal(sealed_secrets_open(&keyring, &parent, &secrets, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
}

static void worktree_command_holds_what_it_is_given_as_words(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf command = STRBUF_INIT;
    json_auto_t *options = json_of("{'base': 'ref', 'ref': 'v1.0', 'branch_prefix': null}");

    (void)state;
    start_default(&conversation);
    worktree_enter(&conversation, "/workspace/it's; exit");
    assert_string_equal(conversation_working_dir(&conversation), "/workspace/it's; exit");
    worktree_append_command(&conversation, options, &command);
    assert_non_null(strstr(command.text, "folder='/workspace/it'\\''s; exit'\n"));
    assert_non_null(strstr(command.text, "base='ref'\nref='v1.0'\nprefix='openhands/'\n"));
}

/* Starts the shell in a process group of its own. */
static pid_t start_shell(const char *script)
{
    pid_t child = fork();

    if (child == 0) {
        (void)setpgid(0, 0);
        (void)execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    (void)setpgid(child, child);
    return child;
}

static int run_shell(const char *script)
{
    int status = -1;

    assert_true(waitpid(start_shell(script), &status, 0) > 0);
    return status;
}

#define REPOSITORY "/tmp/conversation-worktrees/%s/repository"
/* Its checkout stops until the file "go" is there. */
#define MAKE_REPOSITORY                                                                            \
    "mkdir -p " REPOSITORY " && cd " REPOSITORY " && git init -q && git config user.name a &&"     \
    " git config user.email a@b && echo '* filter=held' >.gitattributes && echo x >file &&"        \
    " git add . && git commit -qm x && git config filter.held.smudge"                              \
    " \"touch $PWD/begun; while [ ! -e $PWD/go ]; do sleep 0.01; done; cat\""

/* The worker died and another one repeats the command, which ended halfway. */
static void worktree_command_finishes_what_was_killed(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf script = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf command = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf dir = STRBUF_INIT;
    const struct uuid source = uuid_random();
    const char *id = source.text;
    pid_t killed = 0;

    (void)state;
    if (run_shell("command -v git >/dev/null") != 0)
        skip();
    start_default(&conversation);
    strbuf_appendf(&dir, REPOSITORY, id);
    strbuf_appendf(&script, MAKE_REPOSITORY, id, id);
    assert_int_equal(run_shell(script.text), 0);
    worktree_enter(&conversation, dir.text);
    strbuf_append(&command, "exec >/dev/null\n");
    conversation.id = uuid_random();
    worktree_append_command(&conversation, NULL, &command);
    killed = start_shell(command.text);
    strbuf_reset(&script);
    strbuf_appendf(&script, "while [ ! -e " REPOSITORY "/begun ]; do sleep 0.01; done", id);
    assert_int_equal(run_shell(script.text), 0);
    assert_int_equal(kill(-killed, SIGKILL), 0);
    assert_int_equal(waitpid(killed, NULL, 0), killed);
    strbuf_reset(&script);
    strbuf_appendf(&script, "touch " REPOSITORY "/go", id);
    assert_int_equal(run_shell(script.text), 0);
    assert_int_equal(run_shell(command.text), 0);
    strbuf_reset(&script);
    strbuf_appendf(
        &script,
        "test -e " REPOSITORY "/file; rc=$?;"
        " rm -rf /tmp/conversation-worktrees/%s /tmp/conversation-worktrees/%s; exit $rc",
        conversation.id.text, conversation.id.text, id);
    assert_int_equal(run_shell(script.text), 0);
}

static void worktree_is_pending_until_it_is_settled(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf dir = STRBUF_INIT;

    (void)state;
    start_default(&conversation);
    assert_false(worktree_is_pending(&conversation));
    worktree_set_pending(&conversation);
    assert_true(worktree_is_pending(&conversation));
    worktree_set_settled(&conversation);
    assert_false(worktree_is_pending(&conversation));
    assert_false(worktree_is_entered(&conversation));
    worktree_enter(&conversation, "/tmp/conversation-worktrees/other/project");
    assert_false(worktree_is_entered(&conversation));
    strbuf_appendf(&dir, "/tmp/conversation-worktrees/%s/project", conversation.id.text);
    worktree_enter(&conversation, dir.text);
    assert_true(worktree_is_entered(&conversation));
}

static void worktree_answer_is_a_path_or_a_reason(void **state)
{
    static const struct {
        const char *answer;
        enum error_code code;
    } cases[] = {
        {"{'exit_code': 0, 'stdout': '/tmp/tree'}", ERROR_NONE},
        {"{'exit_code': 3, 'stdout': ''}", ERROR_NOT_FOUND},
        {"{'exit_code': 128, 'stdout': '', 'stderr': 'fatal'}", ERROR_INVALID},
        {"{'exit_code': 1, 'stdout': '/tmp/tree'}", ERROR_INVALID},
        {"{'stdout': '/tmp/tree'}", ERROR_INVALID},
        {"{'exit_code': 0, 'stdout': 'tree'}", ERROR_INVALID},
        {"{}", ERROR_INVALID},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
        json_auto_t *answer = json_of(cases[i].answer);
        struct error err = ERROR_INIT;

        assert_int_equal(worktree_read_answer(answer, &path, &err),
                         cases[i].code == ERROR_NONE ? 0 : -1);
        assert_int_equal(err.code, cases[i].code);
        assert_string_equal(path.text, cases[i].code == ERROR_NONE ? "/tmp/tree" : "");
    }
}

int child_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_has_agent_and_secrets_of_its_parent),
        cmocka_unit_test(secrets_open_for_their_own_conversation_alone),
        cmocka_unit_test(worktree_command_holds_what_it_is_given_as_words),
        cmocka_unit_test(worktree_command_finishes_what_was_killed),
        cmocka_unit_test(worktree_is_pending_until_it_is_settled),
        cmocka_unit_test(worktree_answer_is_a_path_or_a_reason),
    };

    return cmocka_run_group_tests_name("model/child", tests, NULL, NULL);
}
