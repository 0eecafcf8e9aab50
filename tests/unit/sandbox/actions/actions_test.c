/*
 * Which actions run, which are answered from the journal, and which are refused. The editor runs
 * them: its actions end at once.
 */
#include "sandbox/actions/actions.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/actions/journal.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/action_server.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/git/credentials.h"
#include "sandbox/http/server_request.h"
#include "sandbox/ports/mcp_programs.h"
#include "support/json_path.h"
#include "unit/sandbox/sandbox_test.h"

#define ONE "11111111-2222-4333-8444-555555555555"
#define TWO "99999999-2222-4333-8444-555555555555"
#define NUMBERED "88888888-2222-4333-8444-%012d"
#define NUMBERED_0 "88888888-2222-4333-8444-000000000000"

enum { WITHIN_MS = 20000 };

struct bench {
    struct action_config config;
    struct action_server server;
    char folder[32];
    char made[48];    /* the file that the actions make */
    char git[48];     /* the folder counts as a repository: none is made in it */
    char journal[48]; /* the journal's file */
    int n_edits;
};

static int set_up(void **state)
{
    struct bench *bench = NEW(struct bench);
    CLEANUP(fd_close) int fd = -1;
    struct error err = ERROR_INIT;

    memcpy(bench->folder, "/tmp/deft-actions-XXXXXX", sizeof("/tmp/deft-actions-XXXXXX"));
    assert_non_null(mkdtemp(bench->folder));
    (void)snprintf(bench->made, sizeof(bench->made), "%s/made", bench->folder);
    (void)snprintf(bench->git, sizeof(bench->git), "%s/.git", bench->folder);
    (void)snprintf(bench->journal, sizeof(bench->journal), "%s/journal", bench->folder);
    fd = open(bench->git, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    bench->config.workspace = bench->folder;
    bench->config.save_dir = "";
    bench->config.idle_timeout = "";
    bench->config.browser = "";
    bench->server.config = &bench->config;
    assert_int_equal(event_loop_new(&bench->server.loop, &err), 0);
    bench->server.journal = journal_open(bench->folder, "{\"state\":\"interrupted\"}");
    bench->server.credentials = credentials_new();
    bench->server.mcp_programs = mcp_programs_new(bench->server.loop, &bench->config);
    bench->server.actions = actions_new(&bench->server);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;

    actions_free(bench->server.actions);
    mcp_programs_free(bench->server.mcp_programs);
    credentials_free(bench->server.credentials);
    journal_close(bench->server.journal);
    event_loop_free(bench->server.loop);
    (void)unlink(bench->made);
    (void)unlink(bench->git);
    (void)unlink(bench->journal);
    (void)rmdir(bench->folder);
    mem_free(bench);
    return 0;
}

static void on_answered(struct http_connection *connection)
{
    (void)connection;
}

struct call {
    void (*handle)(struct server_request *request);
    const char *id; /* of the action, or of a conversation */
    const char *headers;
    const char *body;
};

/* The status of the answer; its body in *answer. */
static int ask(struct bench *bench, const struct call *call, struct strbuf *answer)
{
    CLEANUP(http_head_done) struct http_head head = HTTP_HEAD_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct server_request *request = NULL;
    struct error err = ERROR_INIT;
    size_t used = 0;
    int status = 0;

    strbuf_appendf(&text, "PUT /actions HTTP/1.1\r\n%s\r\n", call->headers);
    assert_int_equal(http_head_read(&head, text.text, text.len, &used, &err), 0);
    request = server_request_new(&bench->server, &head);
    request->answered = on_answered;
    request->param = mem_dup_text(call->id);
    strbuf_append(&request->body, call->body != NULL ? call->body : "");
    call->handle(request);
    assert_true(request->is_answered);
    status = request->status;
    strbuf_reset(answer);
    strbuf_append_bytes(answer, request->reply.text, request->reply.len);
    server_request_free(request);
    return status;
}

/* An action that does not end at once; the head is the request's. */
static struct server_request *begin_in(struct bench *bench, struct http_head *head,
                                       const char *conversation, const struct call *call)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct server_request *request = NULL;
    struct error err = ERROR_INIT;
    size_t used = 0;

    strbuf_appendf(&text,
                   "PUT /actions HTTP/1.1\r\nX-Deft-Conversation: %s\r\nX-Deft-Fence: "
                   "1\r\n\r\n",
                   conversation);
    assert_int_equal(http_head_read(head, text.text, text.len, &used, &err), 0);
    request = server_request_new(&bench->server, head);
    request->answered = on_answered;
    request->param = mem_dup_text(call->id);
    strbuf_append(&request->body, call->body);
    actions_handle_put(request);
    assert_false(request->is_answered);
    return request;
}

static struct server_request *begin(struct bench *bench, struct http_head *head, const char *id,
                                    const char *body)
{
    return begin_in(bench, head, ONE, &(struct call){.id = id, .body = body});
}

#define GLOB "{\"tool\":\"glob\",\"args\":{\"pattern\":\"*\"}}"
#define SCOPE(conversation, fence)                                                                 \
    "X-Deft-Conversation: " conversation "\r\nX-Deft-Fence: " fence "\r\n"

/* The answer is 200 with that state of the action. */
static void assert_state(struct bench *bench, const struct call *call, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;

    assert_int_equal(ask(bench, call, &answer), 200);
    assert_json_at(answer.text, "state", expected);
}

static void assert_asked(struct bench *bench, const struct call *call, int status, const char *part)
{
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    int seen = ask(bench, call, &answer);

    if (seen != status || strstr(answer.text, part) == NULL)
        fail_msg("%s with %s: %d %s", call->id, call->headers, seen, answer.text);
}

/* The body of a PUT that makes the file. */
static void append_make(const struct bench *bench, const char *text, struct strbuf *out)
{
    strbuf_appendf(out,
                   "{\"tool\":\"file_editor\",\"working_dir\":\"%s\",\"args\":{\"command\":"
                   "\"create\",\"path\":\"%s\",\"file_text\":\"%s\"}}",
                   bench->folder, bench->made, text);
}

/* A worker that has lost its conversation must neither run nor read anything of it. */
static void fence_only_rises(void **state)
{
    static const struct {
        const char *headers;
        int status;
    } steps[] = {
        {SCOPE(ONE, "5"), 200}, {SCOPE(ONE, "4"), 409}, {SCOPE(ONE, "5"), 200},
        {SCOPE(ONE, "6"), 200}, {SCOPE(ONE, "5"), 409}, {SCOPE(TWO, "1"), 200},
        {SCOPE(TWO, "0"), 409}, {SCOPE(ONE, "6"), 200},
    };
    struct bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        const struct call call = {actions_handle_get, "none", steps[i].headers, NULL};

        if (steps[i].status == 200)
            assert_state(bench, &call, "\"unknown\"");
        else
            assert_asked(bench, &call, steps[i].status, "is older than");
    }
    append_make(bench, "x", &body);
    {
        const struct call stale = {actions_handle_put, "a1", SCOPE(ONE, "5"), body.text};

        assert_asked(bench, &stale, 409, "is older than");
        assert_int_equal(access(bench->made, F_OK), -1);
    }
}

static void action_runs_once_and_its_result_is_kept(void **state)
{
    struct bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf first = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf second = STRBUF_INIT;
    struct call call = {actions_handle_put, "a1", SCOPE(ONE, "1"), NULL};

    append_make(bench, "x", &body);
    call.body = body.text;
    assert_int_equal(ask(bench, &call, &first), 200);
    assert_json_at(first.text, "state", "\"finished\"");
    assert_int_equal(journal_find(bench->server.journal, "a1")->fence, 1);
    assert_int_equal(unlink(bench->made), 0);
    assert_int_equal(ask(bench, &call, &second), 200);
    assert_string_equal(second.text, first.text);
    assert_int_equal(access(bench->made, F_OK), -1);
    call.handle = actions_handle_get;
    assert_int_equal(ask(bench, &call, &second), 200);
    assert_string_equal(second.text, first.text);
}

static void id_of_another_action_is_a_conflict(void **state)
{
    struct bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf other = STRBUF_INIT;
    struct call call = {actions_handle_put, "a1", SCOPE(ONE, "1"), NULL};

    append_make(bench, "x", &body);
    append_make(bench, "y", &other);
    call.body = body.text;
    assert_state(bench, &call, "\"finished\"");
    call.body = other.text;
    assert_asked(bench, &call, 409, "another action already has this id");
    call.body = body.text;
    call.headers = SCOPE(TWO, "1");
    assert_asked(bench, &call, 409, "another conversation has this action id");
    call.handle = actions_handle_get;
    assert_state(bench, &call, "\"unknown\"");
}

static void forgotten_conversation_begins_anew(void **state)
{
    struct bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct call call = {actions_handle_put, "a1", SCOPE(ONE, "7"), NULL};
    const struct call forget = {actions_handle_forget, ONE, "", NULL};

    append_make(bench, "x", &body);
    call.body = body.text;
    assert_state(bench, &call, "\"finished\"");
    assert_asked(bench, &forget, 200, "true");
    call.handle = actions_handle_get;
    call.headers = SCOPE(ONE, "0");
    assert_state(bench, &call, "\"unknown\"");
}

/* Tool and arguments, in any order of their members; folder and variables may differ. */
static void action_is_known_by_its_tool_and_arguments(void **state)
{
    static const struct {
        const char *begin;
        const char *end; /* after the path */
        int status;
    } cases[] = {
        {"{\"tool\":\"file_editor\",\"args\":{\"command\":\"create\",\"path\":\"",
         "\",\"file_text\":\"x\"}}", 200},
        {"{\"env\":{\"A\":\"b\"},\"args\":{\"file_text\":\"x\",\"command\":\"create\",\"path\":\"",
         "\"},\"working_dir\":\"/other\",\"tool\":\"file_editor\"}", 200},
        {"{\"tool\":\"terminal\",\"args\":{\"command\":\"create\",\"path\":\"",
         "\",\"file_text\":\"x\"}}", 409},
        {"{\"tool\":\"file_editor\",\"args\":{\"command\":\"create\",\"path\":\"",
         "\",\"file_text\":\"x\",\"more\":1}}", 409},
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
        struct call call = {actions_handle_put, "a1", SCOPE(ONE, "1"), NULL};

        strbuf_appendf(&body, "%s%s%s", cases[i].begin, bench->made, cases[i].end);
        call.body = body.text;
        assert_asked(bench, &call, cases[i].status,
                     cases[i].status == 200 ? "\"is_error\":false" : "already has this id");
    }
}

/* A command in a folder that is being cloned would find half of it. */
static void command_waits_for_the_repository(void **state)
{
    struct bench *bench = *state;
    CLEANUP(http_head_done) struct http_head first = HTTP_HEAD_INIT;
    CLEANUP(http_head_done) struct http_head second = HTTP_HEAD_INIT;
    struct server_request *preparing =
        begin(bench, &first, "r1", "{\"tool\":\"repository\",\"args\":{\"step\":\"init\"}}");
    struct server_request *command =
        begin(bench, &second, "t1", "{\"tool\":\"terminal\",\"args\":{\"command\":\"true\"}}");

    assert_non_null(journal_find(bench->server.journal, "r1"));
    assert_null(journal_find(bench->server.journal, "t1"));
    /* One that waits has its id already. */
    assert_asked(bench,
                 &(struct call){actions_handle_put, "t1", SCOPE(ONE, "1"),
                                "{\"tool\":\"terminal\",\"args\":{\"command\":\"false\"}}"},
                 409, "another action already has this id");
    /* Its end answers both: what did not begin may be sent again. */
    actions_free(TAKE_PTR(bench->server.actions));
    assert_true(preparing->is_answered && command->is_answered);
    assert_json_at(command->reply.text, "state", "\"interrupted\"");
    server_request_free(preparing);
    server_request_free(command);
}

static void on_late(void *owner)
{
    (void)owner;
    fail_msg("nothing happened");
}

static void await_answer(struct bench *bench, const struct server_request *request)
{
    struct event_loop_timer late = {.expired = on_late};

    event_loop_timer_set(bench->server.loop, &late, WITHIN_MS);
    while (!request->is_answered)
        event_loop_dispatch(bench->server.loop);
    event_loop_timer_clear(bench->server.loop, &late);
}

static void few_file_tools_run_at_once(void **state)
{
    struct bench *bench = *state;
    struct http_head heads[MAX_FILE_TASKS + 1];
    struct server_request *requests[MAX_FILE_TASKS + 1];
    char id[8];

    for (int i = 0; i <= MAX_FILE_TASKS; i++) {
        (void)snprintf(id, sizeof(id), "f%d", i);
        heads[i] = (struct http_head)HTTP_HEAD_INIT;
        requests[i] = begin(bench, &heads[i], id, GLOB);
        assert_int_equal(journal_find(bench->server.journal, id) != NULL, i < MAX_FILE_TASKS);
    }
    /* The end of one begins the next. */
    await_answer(bench, requests[MAX_FILE_TASKS]);
    for (int i = 0; i <= MAX_FILE_TASKS; i++) {
        await_answer(bench, requests[i]);
        assert_json_at(requests[i]->reply.text, "state", "\"finished\"");
        server_request_free(requests[i]);
        http_head_done(&heads[i]);
    }
}

static void what_names_no_action_is_refused(void **state)
{
    static const struct {
        const char *id;
        const char *headers;
        const char *body;
        const char *part;
    } cases[] = {
        {"", SCOPE(ONE, "1"), "{}", "not an action id"},
        {"a/b", SCOPE(ONE, "1"), "{}", "not an action id"},
        {"a1", "X-Deft-Fence: 1\r\n", "{}", "must be a UUID"},
        {"a1", SCOPE("7", "1"), "{}", "must be a UUID"},
        {"a1", "X-Deft-Conversation: " ONE "\r\n", "{}", "X-Deft-Fence is missing"},
        {"a1", SCOPE(ONE, "-1"), "{}", "X-Deft-Fence"},
        {"a1", SCOPE(ONE, "x"), "{}", "X-Deft-Fence"},
        {"a1", SCOPE(ONE, "1"), "[]", "must be an object"},
        {"a1", SCOPE(ONE, "1"), "{", "body"},
        {"a1", SCOPE(ONE, "1"), "{\"tool\":\"terminal\"}", "args must be an object"},
        {"a1", SCOPE(ONE, "1"), "{\"tool\":\"other\",\"args\":{}}", "tool must be"},
        {"a1", SCOPE(ONE, "1"), "{\"tool\":\"terminal\",\"args\":{\"command\":7}}", "args.command"},
        {"a1", SCOPE(ONE, "1"),
         "{\"tool\":\"terminal\",\"args\":{\"command\":\"x\",\"timeout\":-1}}", "args.timeout"},
        {"a1", SCOPE(ONE, "1"),
         "{\"tool\":\"terminal\",\"args\":{\"command\":\"x\",\"timeout\":1e10}}", "args.timeout"},
        {"a1", SCOPE(ONE, "1"),
         "{\"tool\":\"terminal\",\"args\":{\"command\":\"x\",\"timeout\":\"1\"}}", "args.timeout"},
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct call call = {actions_handle_put, cases[i].id, cases[i].headers, cases[i].body};

        assert_asked(bench, &call, 400, cases[i].part);
    }
}

/* --- conversations --- */

/* The editor's action, in the numbered conversation; args are members after the path. */
static void edit_in(struct bench *bench, int number, const char *args, struct strbuf *answer)
{
    CLEANUP(strbuf_done) struct strbuf headers = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;
    struct call call = {.handle = actions_handle_put};

    strbuf_appendf(&headers, "X-Deft-Conversation: " NUMBERED "\r\nX-Deft-Fence: 1\r\n", number);
    strbuf_appendf(
        &body, "{\"tool\":\"file_editor\",\"working_dir\":\"%s\",\"args\":{\"path\":\"%s\",%s}}",
        bench->folder, bench->made, args);
    strbuf_appendf(&id, "e%d", bench->n_edits++);
    call.id = id.text;
    call.headers = headers.text;
    call.body = body.text;
    assert_int_equal(ask(bench, &call, answer), 200);
}

static void assert_edited(struct bench *bench, int number, const char *args, const char *is_error)
{
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;

    edit_in(bench, number, args, &answer);
    assert_json_at(answer.text, "observation.is_error", is_error);
}

#define VIEW "\"command\":\"view\""
#define REPLACE(old, new)                                                                          \
    "\"command\":\"str_replace\",\"old_str\":\"" old "\",\"new_str\":\"" new "\""
#define UNDO "\"command\":\"undo_edit\""

/* An editor forgets its edits with its conversation's session. */
static void least_recent_conversation_gives_way(void **state)
{
    struct bench *bench = *state;
    CLEANUP(http_head_done) struct http_head head = HTTP_HEAD_INIT;
    struct server_request *busy =
        begin_in(bench, &head, NUMBERED_0, &(struct call){.id = "busy", .body = GLOB});

    assert_edited(bench, 1, "\"command\":\"create\",\"file_text\":\"x\"", "false");
    assert_edited(bench, 2, REPLACE("x", "yx"), "false");
    assert_edited(bench, 3, REPLACE("y", "zy"), "false");
    assert_edited(bench, 4, REPLACE("z", "wz"), "false");
    assert_edited(bench, 2, VIEW, "false");
    assert_edited(bench, 1, VIEW, "false");
    for (int i = 5; i <= MAX_CONVERSATIONS; i++)
        assert_edited(bench, i, VIEW, "false");
    /* The oldest works; of the others, 3 was not used for the longest time. */
    assert_false(busy->is_answered);
    assert_edited(bench, 2, UNDO, "false");
    assert_edited(bench, 4, UNDO, "false");
    assert_edited(bench, 3, UNDO, "true");
    assert_false(busy->is_answered);
    actions_free(TAKE_PTR(bench->server.actions));
    assert_true(busy->is_answered);
    server_request_free(busy);
}

/* Also all together: what works is not ended for the next one. */
static void busy_conversations_are_bounded(void **state)
{
    struct bench *bench = *state;
    struct http_head *heads = mem_alloc_array(MAX_CONVERSATIONS, sizeof(*heads));
    struct server_request **busy = mem_alloc_array(MAX_CONVERSATIONS, sizeof(*busy));
    struct call more = {actions_handle_put, "more", SCOPE(TWO, "1"), NULL};
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    char text[UUID_TEXT_BYTES];

    append_make(bench, "x", &body);
    more.body = body.text;
    for (int i = 0; i < MAX_CONVERSATIONS; i++) {
        (void)snprintf(text, sizeof(text), NUMBERED, i);
        heads[i] = (struct http_head)HTTP_HEAD_INIT;
        busy[i] = begin_in(bench, &heads[i], text, &(struct call){.id = text, .body = GLOB});
    }
    assert_asked(bench, &more, 429, "too many conversations in this sandbox");
    assert_int_equal(access(bench->made, F_OK), -1);
    /* One that ends leaves its place. */
    assert_asked(bench, &(struct call){actions_handle_forget, text, "", NULL}, 200, "true");
    assert_true(busy[MAX_CONVERSATIONS - 1]->is_answered);
    assert_false(busy[0]->is_answered);
    assert_state(bench, &more, "\"finished\"");
    actions_free(TAKE_PTR(bench->server.actions));
    for (int i = 0; i < MAX_CONVERSATIONS; i++) {
        assert_true(busy[i]->is_answered);
        server_request_free(busy[i]);
        http_head_done(&heads[i]);
    }
    mem_free(busy);
    mem_free(heads);
}

/* No call waits for its command, but a later one will ask for the rest. */
static void conversation_whose_command_runs_is_kept(void **state)
{
    static const char command[] =
        "{\"tool\":\"terminal\",\"args\":{\"command\":\"sleep 60\",\"timeout\":0}}";
    static const char key[] =
        "{\"tool\":\"terminal\",\"args\":{\"command\":\"C-c\",\"is_input\":true,\"timeout\":60}}";
    struct bench *bench = *state;
    CLEANUP(http_head_done) struct http_head first = HTTP_HEAD_INIT;
    CLEANUP(http_head_done) struct http_head second = HTTP_HEAD_INIT;
    struct server_request *request = begin(bench, &first, "t1", command);

    await_answer(bench, request);
    assert_json_at(request->reply.text, "observation.exit_code", "-1");
    server_request_free(request);
    assert_edited(bench, 0, "\"command\":\"create\",\"file_text\":\"x\"", "false");
    for (int i = 1; i <= MAX_CONVERSATIONS; i++)
        assert_edited(bench, i, VIEW, "false");
    request = begin(bench, &second, "t2", key);
    await_answer(bench, request);
    assert_json_at(request->reply.text, "observation.exit_code", "130");
    server_request_free(request);
}

/* The status decides the worker's next step: 409 ends its run, 503 is tried again. */
static void errors_have_their_statuses(void **state)
{
    static const int expected[ERROR_N_CODES] = {
        [ERROR_INVALID] = 400,     [ERROR_UNAUTHENTICATED] = 401, [ERROR_FORBIDDEN] = 403,
        [ERROR_NOT_FOUND] = 404,   [ERROR_CONFLICT] = 409,        [ERROR_STALE] = 409,
        [ERROR_TOO_LARGE] = 413,   [ERROR_RATE_LIMITED] = 429,    [ERROR_UNAVAILABLE] = 503,
        [ERROR_UNSUPPORTED] = 405, [ERROR_TIMEOUT] = 504,         [ERROR_MEDIA_TYPE] = 415,
    };

    (void)state;
    for (int code = 0; code < ERROR_N_CODES; code++)
        assert_int_equal(server_request_status_of((enum error_code)code),
                         expected[code] != 0 ? expected[code] : 500);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int actions_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fence_only_rises),
        TEST(action_runs_once_and_its_result_is_kept),
        TEST(id_of_another_action_is_a_conflict),
        TEST(action_is_known_by_its_tool_and_arguments),
        TEST(forgotten_conversation_begins_anew),
        TEST(command_waits_for_the_repository),
        TEST(least_recent_conversation_gives_way),
        TEST(busy_conversations_are_bounded),
        TEST(conversation_whose_command_runs_is_kept),
        TEST(few_file_tools_run_at_once),
        TEST(what_names_no_action_is_refused),
        cmocka_unit_test(errors_have_their_statuses),
    };

    return cmocka_run_group_tests_name("sandbox/actions", tests, NULL, NULL);
}
