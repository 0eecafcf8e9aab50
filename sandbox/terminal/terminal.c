#include "sandbox/terminal/terminal.h"

#include <assert.h>
#include <ctype.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/core/memory_kills.h"
#include "sandbox/terminal/shell.h"
#include "sandbox/terminal/shell_split.h"
#include "sandbox/terminal/terminal_filter.h"
#include "sandbox/terminal/terminal_keys.h"
#include "sandbox/terminal/terminal_report.h"
#include "sandbox/terminal/terminal_text.h"

enum {
    START_MAX_MS = 15000, /* the user's start-up files may be slow */
    PRESS_AGAIN_MS = 300, /* between two presses of Ctrl-C */
    ESCALATE_MS = 1000,
};

static void drop_output(struct terminal *terminal)
{
    CLEANUP(strbuf_done) struct strbuf dropped = STRBUF_INIT;

    terminal_filter_take(shell_output(terminal->shell), &dropped);
}

static void end_command(struct terminal *terminal)
{
    terminal->state = TERMINAL_READY;
    terminal->escalation = 0;
    event_loop_timer_clear(terminal->loop, &terminal->escalation_timer);
}

static void drop_shell(struct terminal *terminal)
{
    end_command(terminal);
    event_loop_timer_clear(terminal->loop, &terminal->start_timer);
    background_wait_clear(&terminal->background);
    shell_free(terminal->shell);
    terminal->shell = NULL;
    terminal->background_pid = -1;
    terminal->state = TERMINAL_NO_SHELL;
    terminal->reported = false;
    terminal->control = '\0';
}

static void begin_wait(struct terminal *terminal)
{
    if (terminal->timeout_s >= 0)
        event_loop_timer_set(terminal->loop, &terminal->hard_timer,
                             1 + (int64_t)(terminal->timeout_s * 1000));
    if (!terminal->waits_in_silence)
        event_loop_timer_set(terminal->loop, &terminal->silence_timer, terminal->spec.no_change_ms);
}

/* Runs the call's command at the prompt (or, after a reset, none). */
static void run_command(struct terminal *terminal)
{
    struct error err = ERROR_INIT;

    if (terminal->text[0] == '\0') {
        report_reset(terminal);
        return;
    }
    if (terminal->reported)
        drop_output(terminal); /* of the end of a command that no call waited for */
    terminal->reported = false;
    terminal->control = '\0';
    terminal->kills = memory_kills();
    terminal->state = TERMINAL_RUNNING;
    if (shell_run(terminal->shell, terminal->exports, terminal->text, &err) < 0) {
        drop_shell(terminal);
        report_refusal(terminal, err.message);
        return;
    }
    begin_wait(terminal);
}

/* True when it starts waiting for the first output of a new background job. */
static bool begin_background_wait(struct terminal *terminal)
{
    int pid = shell_record(terminal->shell)->background_pid;
    bool is_new = pid > 0 && pid != terminal->background_pid;

    terminal->background_pid = pid;
    if (terminal->spec.face != TERMINAL_TOOL || !is_new ||
        !background_wait_begin(&terminal->background, pid, terminal->spec.job_wait_ms))
        return false;
    event_loop_timer_clear(terminal->loop, &terminal->silence_timer);
    event_loop_timer_clear(terminal->loop, &terminal->hard_timer);
    return true;
}

static void on_prompted(void *owner)
{
    struct terminal *terminal = owner;

    if (terminal->state == TERMINAL_STARTING) {
        event_loop_timer_clear(terminal->loop, &terminal->start_timer);
        drop_output(terminal);
        terminal->state = TERMINAL_READY;
        if (terminal->in_call)
            run_command(terminal);
        return;
    }
    end_command(terminal);
    if (!terminal->in_call)
        return; /* an empty command may still read the rest */
    if (begin_background_wait(terminal))
        return;
    report_completed(terminal);
}

static void on_background_over(void *owner)
{
    struct terminal *terminal = owner;

    if (terminal->in_call)
        report_completed(terminal);
}

static void on_printed(void *owner)
{
    struct terminal *terminal = owner;

    background_wait_hear(&terminal->background);
}

static void start_shell(struct terminal *terminal);

/* The shell has ended during its last command; the next command starts a new one. */
static void answer_exited(struct terminal *terminal)
{
    CLEANUP(strbuf_done) struct strbuf suffix = STRBUF_INIT;
    json_t *observation = NULL;

    terminal_text_shell_exited(&suffix, terminal->exit_code);
    observation = report_observation(terminal, terminal->exit_code, suffix.text);
    /* First, since answering may start the next call. */
    drop_shell(terminal);
    report_and_end(terminal, observation);
}

static void on_exited(void *owner, int code)
{
    struct terminal *terminal = owner;

    if (terminal->state == TERMINAL_STARTING && !terminal->skip_rc) {
        terminal->skip_rc = true;
        drop_shell(terminal);
        start_shell(terminal);
        return;
    }
    terminal->exit_code = code;
    if (terminal->in_call) {
        answer_exited(terminal);
    } else if (terminal->reported) {
        end_command(terminal);
        terminal->state = TERMINAL_ENDED;
    } else {
        drop_shell(terminal);
    }
}

static void fail_start(struct terminal *terminal, const struct error *err)
{
    drop_shell(terminal);
    if (terminal->in_call)
        report_no_shell(terminal, NO_SHELL_CODE,
                        err->code == ERROR_NOT_FOUND ? TERMINAL_TEXT_NO_SHELL : err->message);
}

static void start_shell(struct terminal *terminal)
{
    struct error err = ERROR_INIT;
    const struct shell_events events = {terminal, on_prompted, on_printed, on_exited};
    const struct shell_spec spec = {
        .workspace = terminal->spec.workspace,
        .working_dir =
            terminal->working_dir != NULL ? terminal->working_dir : terminal->spec.workspace,
        .skip_rc = terminal->skip_rc,
        .is_plain = terminal->spec.face == TERMINAL_RUN,
        .credentials = terminal->spec.credentials,
        .save_dir = terminal->spec.save_dir,
    };

    if (shell_new(terminal->loop, &spec, &events, &terminal->shell, &err) < 0) {
        fail_start(terminal, &err);
        return;
    }
    terminal->state = TERMINAL_STARTING;
    event_loop_timer_set(terminal->loop, &terminal->start_timer, START_MAX_MS);
}

static void on_start_overdue(void *owner)
{
    struct terminal *terminal = owner;
    struct error err = ERROR_INIT;

    drop_shell(terminal);
    if (!terminal->skip_rc) {
        terminal->skip_rc = true;
        start_shell(terminal);
        return;
    }
    error_set(&err, ERROR_TIMEOUT, "The shell did not start within %d seconds.",
              START_MAX_MS / 1000);
    fail_start(terminal, &err);
}

static void on_silence(void *owner)
{
    CLEANUP(strbuf_done) struct strbuf suffix = STRBUF_INIT;
    struct terminal *terminal = owner;
    int64_t silent_ms = clock_monotonic_ms() - shell_last_output_ms(terminal->shell);

    if (silent_ms < terminal->spec.no_change_ms) {
        event_loop_timer_set(terminal->loop, &terminal->silence_timer,
                             terminal->spec.no_change_ms - silent_ms);
        return;
    }
    terminal_text_silent(&suffix, (double)terminal->spec.no_change_ms / 1000, terminal->spec.face);
    report_running(terminal, suffix.text);
}

static void on_timeout(void *owner)
{
    CLEANUP(strbuf_done) struct strbuf suffix = STRBUF_INIT;
    struct terminal *terminal = owner;

    terminal_text_timed_out(&suffix, terminal->timeout_s, terminal->spec.face);
    report_running(terminal, suffix.text);
}

static void type_interrupt(struct terminal *terminal)
{
    static const char interrupt_key[] = "\x03";

    shell_type(terminal->shell, interrupt_key, sizeof(interrupt_key) - 1);
}

/*
 * Ends a command that ignores Ctrl-C: presses it again, since between two programs of a line it
 * reaches neither; then SIGTERM, then SIGKILL repeatedly.
 */
static void on_escalation(void *owner)
{
    static const int signals[] = {0, 0, 0, SIGTERM, SIGKILL};
    static const int last = (int)ARRAY_SIZE(signals) - 1;
    struct terminal *terminal = owner;
    int signal = signals[terminal->escalation < last ? terminal->escalation : last];

    if (terminal->state != TERMINAL_RUNNING)
        return;
    terminal->escalation++;
    if (signal == 0)
        type_interrupt(terminal);
    else
        shell_signal(terminal->shell, signal);
    event_loop_timer_set(terminal->loop, &terminal->escalation_timer,
                         signal == 0 ? PRESS_AGAIN_MS : ESCALATE_MS);
}

struct terminal *terminal_new(struct event_loop *loop, const struct terminal_spec *spec)
{
    struct terminal *terminal = NEW(struct terminal);

    terminal->loop = loop;
    terminal->spec = *spec;
    terminal->state = TERMINAL_NO_SHELL;
    terminal->start_timer =
        (struct event_loop_timer){.expired = on_start_overdue, .owner = terminal};
    terminal->silence_timer = (struct event_loop_timer){.expired = on_silence, .owner = terminal};
    terminal->hard_timer = (struct event_loop_timer){.expired = on_timeout, .owner = terminal};
    terminal->escalation_timer =
        (struct event_loop_timer){.expired = on_escalation, .owner = terminal};
    terminal->background_pid = -1;
    background_wait_init(&terminal->background, loop, on_background_over, terminal);
    return terminal;
}

void terminal_free(struct terminal *terminal)
{
    if (terminal == NULL)
        return;
    drop_shell(terminal);
    event_loop_timer_clear(terminal->loop, &terminal->silence_timer);
    event_loop_timer_clear(terminal->loop, &terminal->hard_timer);
    mem_free(terminal->command);
    mem_free(terminal->text);
    mem_free(terminal->exports);
    mem_free(terminal->working_dir);
    mem_free(terminal->typed);
    mem_free(terminal);
}

bool terminal_has_shell(const struct terminal *terminal)
{
    return terminal->state != TERMINAL_NO_SHELL && terminal->state != TERMINAL_ENDED;
}

bool terminal_is_idle(const struct terminal *terminal)
{
    return !terminal->in_call && !terminal->reported && terminal->state != TERMINAL_STARTING;
}

const char *terminal_working_dir(const struct terminal *terminal)
{
    const char *cwd = terminal->shell != NULL ? shell_record(terminal->shell)->cwd : "";

    return cwd[0] != '\0' ? cwd : terminal->spec.workspace;
}

bool terminal_is_busy(const struct terminal *terminal)
{
    return terminal->in_call;
}

void terminal_interrupt(struct terminal *terminal)
{
    if (terminal->state == TERMINAL_STARTING && terminal->in_call) {
        drop_shell(terminal);
        report_no_shell(terminal, INTERRUPTED_CODE, "");
        return;
    }
    if (terminal->background.is_on) {
        background_wait_clear(&terminal->background);
        report_completed(terminal);
        return;
    }
    if (terminal->state != TERMINAL_RUNNING)
        return;
    terminal->control = 'C';
    type_interrupt(terminal);
    if (terminal->escalation_timer.due_ms == 0) /* else a repeated interrupt would postpone it */
        event_loop_timer_set(terminal->loop, &terminal->escalation_timer, PRESS_AGAIN_MS);
}

static char *trimmed(const char *text)
{
    size_t len = 0;

    while (isspace((unsigned char)*text))
        text++;
    len = strlen(text);
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    return mem_dup_bytes(text, len);
}

/* Keys are sent without a newline, text with one. */
static void type_input(struct terminal *terminal)
{
    const char *key = terminal_key_bytes(terminal->text);

    terminal->control = terminal_key_control_letter(terminal->text);
    if (key != NULL) {
        shell_type(terminal->shell, key, strlen(key));
    } else {
        terminal->typed = mem_dup_text(terminal->text);
        shell_type(terminal->shell, terminal->text, strlen(terminal->text));
        shell_type(terminal->shell, "\n", 1);
    }
    begin_wait(terminal);
}

static void continue_running(struct terminal *terminal, bool is_input)
{
    CLEANUP(strbuf_done) struct strbuf suffix = STRBUF_INIT;

    if (is_input && terminal->text[0] != '\0') {
        type_input(terminal);
    } else if (terminal->text[0] == '\0') {
        begin_wait(terminal);
    } else {
        terminal_text_not_executed(&suffix, terminal->text, terminal->spec.face);
        report_busy(terminal, suffix.text);
    }
}

static bool is_several(const char *command)
{
    struct shell_statement statements[SHELL_STATEMENTS_MAX];

    return shell_split(command, statements) > 1;
}

/* Refuses a call that cannot run in any state of the shell; true when it did. */
static bool refuse_early(struct terminal *terminal, const struct terminal_call *call)
{
    CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
    double cap_s = terminal->spec.foreground_cap_s;

    if (call->reset && call->is_input) {
        report_refusal(terminal, TERMINAL_TEXT_RESET_INPUT);
        return true;
    }
    if (call->is_input)
        return false;
    if (terminal->spec.face == TERMINAL_TOOL && terminal_text_is_literal(terminal->text)) {
        report_refusal(terminal, TERMINAL_TEXT_LITERAL);
        return true;
    }
    if (cap_s > 0 && terminal->text[0] != '\0' && call->timeout_s > cap_s) {
        terminal_text_too_long(&why, call->timeout_s, cap_s / 0.9, cap_s);
        report_refusal(terminal, why.text);
        return true;
    }
    return false;
}

static void begin_new_command(struct terminal *terminal)
{
    CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;

    if (is_several(terminal->text)) {
        terminal_text_several(&why, terminal->text);
        report_refusal(terminal, why.text);
        return;
    }
    if (terminal->state == TERMINAL_ENDED)
        drop_shell(terminal);
    if (terminal->state == TERMINAL_NO_SHELL)
        start_shell(terminal);
    else if (terminal->state == TERMINAL_READY)
        run_command(terminal);
}

/*
 * An empty command while none runs: reads the rest of a command that ended between calls, or what a
 * background job has printed since.
 */
static void read_rest(struct terminal *terminal)
{
    if (!terminal->reported && terminal->shell != NULL && terminal->background_pid > 0)
        terminal->reported = !terminal_filter_is_empty(shell_output(terminal->shell));
    if (!terminal->reported)
        report_refusal(terminal, TERMINAL_TEXT_NOTHING_TO_READ);
    else if (terminal->state == TERMINAL_ENDED)
        answer_exited(terminal);
    else
        report_completed(terminal);
}

static void name_reset(struct terminal *terminal)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    strbuf_append(&name, "[RESET]");
    if (terminal->text[0] != '\0')
        strbuf_appendf(&name, " %s", terminal->text);
    mem_free(terminal->command);
    terminal->command = strbuf_take(&name);
}

static void keep_call(struct terminal *terminal, const struct terminal_call *call,
                      const struct terminal_answer *answer)
{
    terminal->in_call = true;
    terminal->answer = *answer;
    terminal->command = mem_dup_text(call->command);
    terminal->text = trimmed(call->command);
    terminal->exports = mem_dup_text(call->exports);
    terminal->working_dir = mem_dup_text(call->working_dir);
    terminal->timeout_s = call->timeout_s;
    terminal->waits_in_silence = call->waits_in_silence;
    terminal->was_reset = call->reset;
}

void terminal_execute(struct terminal *terminal, const struct terminal_call *call,
                      const struct terminal_answer *answer)
{
    assert(!terminal->in_call);
    keep_call(terminal, call, answer);
    if (refuse_early(terminal, call))
        return;
    if (call->reset) {
        name_reset(terminal);
        drop_shell(terminal);
        begin_new_command(terminal);
    } else if (terminal->state == TERMINAL_RUNNING) {
        continue_running(terminal, call->is_input);
    } else if (terminal->text[0] == '\0' && !call->is_input) {
        read_rest(terminal);
    } else if (call->is_input) {
        report_refusal(terminal, TERMINAL_TEXT_NOTHING_TO_TYPE);
    } else {
        begin_new_command(terminal);
    }
}
