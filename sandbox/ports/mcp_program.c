#include "sandbox/ports/mcp_program.h"

#include <stddef.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/tools/mcp.h"
#include "model/tools/mcp_progress.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/ports/mcp_command.h"
#include "sandbox/ports/mcp_process.h"

enum {
    GREETING_ID = 1,
    LINE_MAX_VALUES = 100000, /* up to 400 bytes of memory each */
    LIST_MAX_BYTES = 4 * 1024 * 1024,
};

struct mcp_call {
    struct mcp_program *program;
    struct mcp_call_spec spec;
    char *tool;        /* NULL: the list */
    json_t *arguments; /* until it is sent */
    json_int_t id;     /* of its newest request; 0: not sent */
    json_t *tools;     /* of the pages so far */
    int n_pages;
    size_t n_bytes;
    struct event_loop_timer deadline;
    int64_t last_ms; /* until which progress renews that */
    TAILQ_ENTRY(mcp_call) entry;
};

TAILQ_HEAD(mcp_call_list, mcp_call);

struct mcp_program {
    struct mcp_program_spec spec;
    struct mcp_process *process;
    struct mcp_call_list calls; /* in the order of their arrival */
    size_t n_calls;
    json_int_t last_id;
    bool is_greeted; /* it has answered the greeting */
    bool is_retired;
    bool has_changed_tools;
    int64_t idle_since_ms;
    struct event_loop_timer timer; /* of the greeting, then of idleness */
};

/* --- calls --- */

static void free_call(struct mcp_call *call)
{
    mem_free(call->tool);
    json_decref(call->arguments);
    json_decref(call->tools);
    mem_free(call);
}

/* The program is idle, or to be ended, once it has no calls. */
static void note_idle(struct mcp_program *program)
{
    program->idle_since_ms = clock_monotonic_ms();
    if (program->n_calls == 0 && program->is_greeted)
        event_loop_timer_set(program->spec.loop, &program->timer,
                             program->is_retired ? 0 : program->spec.idle_ms);
}

static void detach(struct mcp_call *call)
{
    struct mcp_program *program = call->program;

    event_loop_timer_clear(program->spec.loop, &call->deadline);
    TAILQ_REMOVE(&program->calls, call, entry);
    program->n_calls--;
    note_idle(program);
}

/* Ends the call; the owner may begin another one. */
static void tell(struct mcp_call *call, struct mcp_outcome *outcome)
{
    struct mcp_program *program = call->program;

    if (outcome->why == NULL) {
        outcome->has_changed_tools = program->has_changed_tools;
        program->has_changed_tools = false;
    }
    detach(call);
    call->spec.told(call->spec.owner, outcome);
    free_call(call);
}

static void refuse(struct mcp_call *call, const char *why)
{
    tell(call, &(struct mcp_outcome){.why = why});
}

/* Sends a message, which is released. */
static int send(struct mcp_program *program, json_t *message, struct error *err)
{
    json_auto_t *owned = message;
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    json_append_text(&line, owned);
    return mcp_process_send(program->process, line.text, line.len, err);
}

static int send_request(struct mcp_call *call, const char *cursor, struct error *err)
{
    struct mcp_program *program = call->program;
    json_int_t id = ++program->last_id;
    json_t *message = call->tool != NULL ? mcp_call_tool(id, call->tool, call->arguments)
                                         : mcp_list_tools(id, cursor);

    if (send(program, message, err) < 0)
        return -1;
    call->id = id;
    json_decref(TAKE_PTR(call->arguments));
    return 0;
}

static void tell_cancelled(const struct mcp_call *call)
{
    struct error ignored = ERROR_INIT;

    if (call->id != 0)
        error_ignore(send(call->program, mcp_cancelled(call->id), &ignored),
                     "the program need not know it");
}

void mcp_call_interrupt(struct mcp_call *call)
{
    tell_cancelled(call);
    refuse(call, "The call was interrupted");
}

void mcp_call_free(struct mcp_call *call)
{
    if (call == NULL)
        return;
    tell_cancelled(call);
    detach(call);
    free_call(call);
}

static void on_deadline(void *owner)
{
    struct mcp_call *call = owner;

    tell_cancelled(call);
    refuse(call, "The program did not reply in time");
}

/* --- the program --- */

void mcp_program_free(struct mcp_program *program)
{
    if (program == NULL)
        return;
    while (!TAILQ_EMPTY(&program->calls)) {
        struct mcp_call *call = TAILQ_FIRST(&program->calls);

        detach(call);
        free_call(call);
    }
    event_loop_timer_clear(program->spec.loop, &program->timer);
    if (program->process != NULL)
        mcp_process_end(program->process);
    mem_free(program);
}

void mcp_program_fail(struct mcp_program *program, const char *why)
{
    while (!TAILQ_EMPTY(&program->calls))
        refuse(TAILQ_FIRST(&program->calls), why);
}

static void end(struct mcp_program *program, const char *why)
{
    mcp_program_fail(program, why);
    program->spec.over(program->spec.owner, program);
}

static void on_failed(void *owner, const char *why)
{
    end(owner, why);
}

static void on_timer(void *owner)
{
    struct mcp_program *program = owner;

    if (program->is_greeted && program->n_calls > 0)
        return;
    end(program, "The program did not answer the greeting in time");
}

/* --- messages of the program --- */

static struct mcp_call *find_call(const struct mcp_program *program, json_int_t id)
{
    struct mcp_call *call = NULL;

    TAILQ_FOREACH (call, &program->calls, entry) {
        if (call->id == id)
            return call;
    }
    return NULL;
}

/* Sends all calls that have waited for the greeting. */
static void send_waiting(struct mcp_program *program)
{
    struct mcp_call *call = find_call(program, 0);
    struct error err = ERROR_INIT;

    while (call != NULL) {
        if (send_request(call, NULL, &err) < 0)
            refuse(call, err.message);
        call = find_call(program, 0);
    }
}

/* The program may be over after it. */
static void take_greeting(struct mcp_program *program, const json_t *reply)
{
    const json_t *result = NULL;
    struct error err = ERROR_INIT;

    if (mcp_result(reply, &result, &err) < 0 || send(program, mcp_initialized(), &err) < 0) {
        end(program, err.message);
        return;
    }
    program->is_greeted = true;
    event_loop_timer_clear(program->spec.loop, &program->timer);
    send_waiting(program);
    note_idle(program);
}

/* Takes a page of the list; asks for the next one, or ends the call. */
static void take_page(struct mcp_call *call, const json_t *result)
{
    const char *cursor = json_text_or(result, "nextCursor", NULL);
    struct error err = ERROR_INIT;

    mcp_add_tools(result, call->tools);
    call->n_bytes += json_dumpb(result, NULL, 0, JSON_COMPACT);
    if (cursor == NULL || ++call->n_pages >= MCP_PROGRAM_LIST_PAGES_MAX ||
        call->n_bytes > LIST_MAX_BYTES)
        tell(call, &(struct mcp_outcome){.tools = call->tools});
    else if (send_request(call, cursor, &err) < 0)
        refuse(call, err.message);
}

static void take_reply(struct mcp_program *program, const json_t *reply)
{
    json_int_t id = json_int_or(reply, "id", 0);
    struct mcp_call *call = id > GREETING_ID ? find_call(program, id) : NULL;
    const json_t *result = NULL;
    struct error err = ERROR_INIT;

    if (id == GREETING_ID && !program->is_greeted) {
        take_greeting(program, reply);
        return;
    }
    if (call == NULL)
        return;
    if (mcp_result(reply, &result, &err) < 0)
        refuse(call, err.message);
    else if (call->tool == NULL)
        take_page(call, result);
    else
        tell(call, &(struct mcp_outcome){.result = result});
}

/* Progress of a call renews its time. */
static void take_progress(struct mcp_call *call, const struct mcp_progress *progress)
{
    int64_t left_ms = call->last_ms - clock_monotonic_ms();

    event_loop_timer_set(call->program->spec.loop, &call->deadline,
                         left_ms < call->spec.timeout_ms ? left_ms : call->spec.timeout_ms);
    if (call->spec.progressed != NULL)
        call->spec.progressed(call->spec.owner, progress);
}

static void take_notification(struct mcp_program *program, const json_t *message)
{
    json_int_t token = json_int_or(json_object_get(message, "params"), "progressToken", 0);
    struct mcp_call *call = token > GREETING_ID ? find_call(program, token) : NULL;
    struct mcp_progress progress = {.message = ""};

    if (text_equal(json_text_or(message, "method", ""), "notifications/tools/list_changed"))
        program->has_changed_tools = true;
    /* A list has no token. */
    if (call != NULL && call->tool != NULL && mcp_progress_of(message, token, &progress))
        take_progress(call, &progress);
}

static void take_message(struct mcp_program *program, const json_t *message)
{
    json_t *answer = mcp_answer(message);
    struct error err = ERROR_INIT;

    take_notification(program, message);
    if (answer != NULL && send(program, answer, &err) < 0)
        end(program, err.message);
}

/* What is no JSON is ignored, such as a banner. */
static void on_line(void *owner, const struct strbuf *line)
{
    json_auto_t *message = NULL;
    struct error err = ERROR_INIT;
    int rc = json_parse_limited(line->text, line->len, LINE_MAX_VALUES, &message, &err);

    if (rc < 0 && err.code == ERROR_TOO_LARGE)
        end(owner, "The program's reply is too large");
    if (rc < 0)
        return;
    if (json_object_get(message, "method") != NULL)
        take_message(owner, message);
    else
        take_reply(owner, message);
}

/* --- for the caller --- */

int mcp_program_start(const struct mcp_program_spec *spec, struct mcp_program **program_out,
                      struct error *err)
{
    struct mcp_program *program = NEW(struct mcp_program);
    const struct mcp_process_listener listener = {on_line, on_failed, program};

    program->spec = *spec;
    program->spec.command = NULL;
    program->last_id = GREETING_ID;
    program->idle_since_ms = clock_monotonic_ms();
    program->timer = (struct event_loop_timer){.expired = on_timer, .owner = program};
    TAILQ_INIT(&program->calls);
    if (mcp_process_start(spec->processes, spec->command, &listener, &program->process, err) < 0 ||
        send(program, mcp_initialize(GREETING_ID), err) < 0) {
        mcp_program_free(program);
        return -1;
    }
    event_loop_timer_set(spec->loop, &program->timer, MCP_PROGRAM_START_MS);
    *program_out = program;
    return 0;
}

bool mcp_program_is_dead(const struct mcp_program *program)
{
    return mcp_process_is_dead(program->process);
}

size_t mcp_program_n_calls(const struct mcp_program *program)
{
    return program->n_calls;
}

int64_t mcp_program_idle_since_ms(const struct mcp_program *program)
{
    return program->idle_since_ms;
}

void mcp_program_retire(struct mcp_program *program)
{
    program->is_retired = true;
    note_idle(program);
}

int mcp_program_call(struct mcp_program *program, const struct mcp_call_spec *spec,
                     struct mcp_call **call_out, struct error *err)
{
    struct mcp_call *call = NULL;

    if (program->n_calls >= MCP_PROGRAM_CALLS_MAX)
        return error_set(err, ERROR_RATE_LIMITED, "Too many calls of this program are running");
    call = NEW(struct mcp_call);
    call->program = program;
    call->spec = *spec;
    call->tool = spec->tool != NULL ? mem_dup_text(spec->tool) : NULL;
    call->arguments = json_incref(spec->arguments);
    call->tools = json_array();
    call->deadline = (struct event_loop_timer){.expired = on_deadline, .owner = call};
    if (program->is_greeted && send_request(call, NULL, err) < 0) {
        free_call(call);
        return -1;
    }
    TAILQ_INSERT_TAIL(&program->calls, call, entry);
    program->n_calls++;
    if (program->is_greeted)
        event_loop_timer_clear(program->spec.loop, &program->timer);
    call->last_ms = clock_monotonic_ms() + MCP_CALL_MAX_MS;
    event_loop_timer_set(program->spec.loop, &call->deadline, spec->timeout_ms);
    *call_out = call;
    return 0;
}
