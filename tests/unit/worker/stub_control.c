#include "worker/stub_sandbox.h"

#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "worker/stub_state.h"

#define RUNS_WITHIN_MS 60000

const char *stub_url(struct stub *stub)
{
    return stub->url;
}

void stub_refuse_start(struct stub *stub, const char *detail)
{
    lock_take(&stub->lock);
    mem_free(stub->refusal);
    stub->refusal = detail == NULL ? NULL : mem_dup_text(detail);
    lock_release(&stub->lock);
}

static size_t read_count(struct stub *stub, const size_t *count)
{
    size_t n = 0;

    lock_take(&stub->lock);
    n = *count;
    lock_release(&stub->lock);
    return n;
}

void stub_set_command(struct stub *stub, int exit_code, const char *text)
{
    lock_take(&stub->lock);
    mem_free(stub->command_text);
    stub->command_text = mem_dup_text(text);
    stub->command_exit_code = exit_code;
    lock_release(&stub->lock);
}

static void set_reply(struct stub *stub, json_t **reply_io, const char *text)
{
    struct error err = ERROR_INIT;
    json_t *reply = NULL;

    error_ignore(json_parse(text, strlen(text), &reply, &err), "a test's own reply is JSON");
    lock_take(&stub->lock);
    json_decref(*reply_io);
    *reply_io = reply;
    lock_release(&stub->lock);
}

void stub_set_checkpoint(struct stub *stub, const char *reply)
{
    set_reply(stub, &stub->checkpoint, reply);
}

void stub_set_restore(struct stub *stub, const char *reply)
{
    set_reply(stub, &stub->restore, reply);
}

void stub_set_missing(struct stub *stub, const char *ids)
{
    set_reply(stub, &stub->missing, ids);
}

void stub_take_checkpoints(struct stub *stub, struct strbuf *out)
{
    lock_take(&stub->lock);
    strbuf_append_bytes(out, stub->checkpoints.text, stub->checkpoints.len);
    strbuf_reset(&stub->checkpoints);
    lock_release(&stub->lock);
}

void stub_set_files(struct stub *stub, const char *reply)
{
    set_reply(stub, &stub->files, reply);
}

void stub_set_program(struct stub *stub, const char *reply)
{
    set_reply(stub, &stub->program, reply);
}

void stub_set_progress(struct stub *stub, const char *reply)
{
    set_reply(stub, &stub->progress, reply);
}

const char *stub_progress_query(struct stub *stub)
{
    const char *query = NULL;

    lock_take(&stub->lock);
    query = stub->progress_query.text;
    lock_release(&stub->lock);
    return query;
}

void stub_program_order(struct stub *stub, struct strbuf *out)
{
    strbuf_reset(out);
    lock_take(&stub->lock);
    if (stub->program_order != NULL)
        json_append_text(out, stub->program_order);
    lock_release(&stub->lock);
}

void stub_answer_hook(struct stub *stub, const char *command, const char *answer)
{
    struct error err = ERROR_INIT;
    json_t *members = NULL;

    error_ignore(json_parse(answer, strlen(answer), &members, &err), "a test's own answer is JSON");
    lock_take(&stub->lock);
    if (stub->hook_answers == NULL)
        stub->hook_answers = json_object();
    json_put(stub->hook_answers, command, members);
    lock_release(&stub->lock);
}

void stub_answer_hook_text(struct stub *stub, const char *command, int exit_code, const char *out)
{
    lock_take(&stub->lock);
    if (stub->hook_answers == NULL)
        stub->hook_answers = json_object();
    json_put(stub->hook_answers, command,
             stub_json("{s:i, s:s}", "exit_code", exit_code, "stdout", out));
    lock_release(&stub->lock);
}

static bool has_hooks_locked(const struct stub *stub, size_t n) REQUIRES(stub -> lock)
{
    return json_array_size(stub->hook_orders) >= n;
}

size_t stub_n_hooks(struct stub *stub)
{
    size_t n = 0;

    lock_take(&stub->lock);
    n = json_array_size(stub->hook_orders);
    lock_release(&stub->lock);
    return n;
}

bool stub_wait_for_hooks(struct stub *stub, size_t n)
{
    int64_t deadline_ms = clock_monotonic_ms() + RUNS_WITHIN_MS;
    bool is_reached = false;

    lock_take(&stub->lock);
    while (!has_hooks_locked(stub, n) &&
           condition_wait_until(&stub->changed, &stub->lock, deadline_ms))
        ;
    is_reached = has_hooks_locked(stub, n);
    lock_release(&stub->lock);
    return is_reached;
}

void stub_hook(struct stub *stub, size_t index, struct strbuf *out)
{
    lock_take(&stub->lock);
    strbuf_reset(out);
    json_append_text(out, json_array_get(stub->hook_orders, index));
    lock_release(&stub->lock);
}

size_t stub_n_readings(struct stub *stub)
{
    return read_count(stub, &stub->n_readings);
}

size_t stub_n_commands(struct stub *stub)
{
    return read_count(stub, &stub->n_commands);
}

void stub_replace_sandbox(struct stub *stub)
{
    lock_take(&stub->lock);
    stub->generation++;
    stub_forget_locked(stub);
    lock_release(&stub->lock);
}

void stub_hang(struct stub *stub)
{
    lock_take(&stub->lock);
    stub->is_hung = true;
    lock_release(&stub->lock);
}

void stub_release(struct stub *stub)
{
    lock_take(&stub->lock);
    stub->n_releases++;
    condition_wake_all(&stub->changed);
    lock_release(&stub->lock);
}

size_t stub_n_runs(struct stub *stub)
{
    return read_count(stub, &stub->n_runs);
}

bool stub_has_action(struct stub *stub, const char *id)
{
    bool has = false;

    lock_take(&stub->lock);
    has = stub_find_locked(stub, id) != NULL;
    lock_release(&stub->lock);
    return has;
}

size_t stub_n_running(struct stub *stub)
{
    return read_count(stub, &stub->n_running);
}

size_t stub_n_starts(struct stub *stub)
{
    return read_count(stub, &stub->n_starts);
}

size_t stub_n_doubts(struct stub *stub)
{
    return read_count(stub, &stub->n_doubts);
}

size_t stub_n_interrupts(struct stub *stub)
{
    return read_count(stub, &stub->n_interrupts);
}

size_t stub_n_forgotten(struct stub *stub)
{
    return read_count(stub, &stub->n_forgotten);
}

size_t stub_n_directories(struct stub *stub)
{
    return read_count(stub, &stub->n_directories);
}

void stub_last_directory(struct stub *stub, char path_out[200])
{
    lock_take(&stub->lock);
    memcpy(path_out, stub->directory, sizeof(stub->directory));
    lock_release(&stub->lock);
}

size_t stub_n_acknowledged(struct stub *stub)
{
    return read_count(stub, &stub->n_acknowledged);
}

bool stub_wait_for_runs(struct stub *stub, size_t n)
{
    int64_t deadline_ms = clock_monotonic_ms() + RUNS_WITHIN_MS;
    bool is_reached = false;

    lock_take(&stub->lock);
    while (stub->n_runs < n && condition_wait_until(&stub->changed, &stub->lock, deadline_ms))
        ;
    is_reached = stub->n_runs >= n;
    lock_release(&stub->lock);
    return is_reached;
}

bool stub_wait_for_starts(struct stub *stub, size_t n)
{
    int64_t deadline_ms = clock_monotonic_ms() + RUNS_WITHIN_MS;
    bool is_reached = false;

    lock_take(&stub->lock);
    while (stub->n_starts < n && condition_wait_until(&stub->changed, &stub->lock, deadline_ms))
        ;
    is_reached = stub->n_starts >= n;
    lock_release(&stub->lock);
    return is_reached;
}
