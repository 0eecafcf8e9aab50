#include "sandbox/terminal/terminal_report.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_observation.h"
#include "sandbox/core/memory_kills.h"
#include "sandbox/terminal/shell.h"
#include "sandbox/terminal/terminal_filter.h"
#include "sandbox/terminal/terminal_text.h"

void report_and_end(struct terminal *terminal, json_t *observation)
{
    struct terminal_answer answer = terminal->answer;

    assert(terminal->in_call);
    terminal->in_call = false;
    event_loop_timer_clear(terminal->loop, &terminal->silence_timer);
    event_loop_timer_clear(terminal->loop, &terminal->hard_timer);
    mem_freep(&terminal->command);
    mem_freep(&terminal->text);
    mem_freep(&terminal->exports);
    mem_freep(&terminal->working_dir);
    mem_freep(&terminal->typed);
    answer.done(answer.owner, observation);
}

void report_refusal(struct terminal *terminal, const char *reason)
{
    report_and_end(terminal, action_observation_from_refusal(terminal->command, reason));
}

/* Removes a raw program's echo of the typed input. */
static void strip_echo(struct strbuf *content, const char *typed)
{
    size_t len = typed != NULL ? strlen(typed) : 0;

    if (len > 0 && text_starts_with(content->text, typed) &&
        (content->text[len] == '\n' || content->text[len] == '\0'))
        strbuf_remove_head(content, len + (content->text[len] == '\n'));
}

static void take_content(struct terminal *terminal, struct strbuf *content,
                         struct terminal_result *result)
{
    if (terminal->was_reset)
        strbuf_append(content, TERMINAL_TEXT_RESET "\n\n");
    if (terminal->shell != NULL) {
        CLEANUP(strbuf_done) struct strbuf output = STRBUF_INIT;
        struct terminal_filter *filter = shell_output(terminal->shell);

        terminal_filter_take(filter, &output);
        if (filter->was_saved)
            result->save_dir = filter->save_dir;
        strip_echo(&output, terminal->typed);
        strbuf_append_bytes(content, output.text, output.len);
    }
    result->content = content->text;
    result->content_len = content->len;
}

json_t *report_observation(struct terminal *terminal, int exit_code, const char *suffix)
{
    CLEANUP(strbuf_done) struct strbuf content = STRBUF_INIT;
    const struct shell_record *record = shell_record(terminal->shell);
    struct terminal_result result = {
        .command = terminal->command,
        .has_exit_code = true,
        .exit_code = exit_code,
        .prefix = terminal->reported ? TERMINAL_TEXT_PREVIOUS : "",
        .suffix = suffix,
        .has_metadata = true,
        .background_pid = record->background_pid,
        .working_dir = record->cwd,
        .path = record->path,
    };

    take_content(terminal, &content, &result);
    terminal->reported = false;
    return action_observation_from_terminal(&result);
}

static void report_continuing(struct terminal *terminal, struct terminal_result *result)
{
    CLEANUP(strbuf_done) struct strbuf content = STRBUF_INIT;

    result->command = terminal->command;
    result->has_exit_code = true;
    result->exit_code = -1;
    result->prefix = terminal->reported ? TERMINAL_TEXT_PREVIOUS : "";
    take_content(terminal, &content, result);
    terminal->reported = true;
    report_and_end(terminal, action_observation_from_terminal(result));
}

void report_running(struct terminal *terminal, const char *suffix)
{
    report_continuing(terminal, &(struct terminal_result){.suffix = suffix});
}

void report_busy(struct terminal *terminal, const char *suffix)
{
    report_continuing(terminal, &(struct terminal_result){.suffix = suffix, .is_error = true});
}

void report_reset(struct terminal *terminal)
{
    const struct shell_record *record = shell_record(terminal->shell);
    const struct terminal_result result = {
        .content = TERMINAL_TEXT_RESET,
        .content_len = sizeof(TERMINAL_TEXT_RESET) - 1,
        .command = terminal->command,
        .has_exit_code = true,
        .exit_code = 0,
        .suffix = "\n[The command completed with exit code 0.]",
        .has_metadata = true,
        .background_pid = -1,
        .working_dir = record->cwd,
        .path = record->path,
    };

    report_and_end(terminal, action_observation_from_terminal(&result));
}

void report_completed(struct terminal *terminal)
{
    CLEANUP(strbuf_done) struct strbuf suffix = STRBUF_INIT;
    int exit_code = shell_record(terminal->shell)->exit_code;

    terminal_text_completed(&suffix, exit_code, terminal->control);
    if (memory_kills() > terminal->kills)
        strbuf_append(&suffix, TERMINAL_TEXT_OUT_OF_MEMORY);
    report_and_end(terminal, report_observation(terminal, exit_code, suffix.text));
}

void report_no_shell(struct terminal *terminal, int exit_code, const char *content)
{
    CLEANUP(strbuf_done) struct strbuf suffix = STRBUF_INIT;
    struct terminal_result result = {
        .content = content,
        .content_len = strlen(content),
        .is_error = true,
        .command = terminal->command,
        .has_exit_code = true,
        .exit_code = exit_code,
    };

    terminal_text_completed(&suffix, exit_code, exit_code == INTERRUPTED_CODE ? 'C' : '\0');
    result.suffix = suffix.text;
    report_and_end(terminal, action_observation_from_terminal(&result));
}
