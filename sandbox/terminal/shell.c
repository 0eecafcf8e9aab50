#include "sandbox/terminal/shell.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/child_process.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/terminal/shell_record.h"
#include "sandbox/terminal/shell_script.h"
#include "sandbox/terminal/terminal_filter.h"

enum {
    COLUMNS = 256,
    ROWS = 200,
    READ_BYTES = 16 * 1024,
    READS_AT_ONCE = 16,
    DRAIN_ROUNDS = 16,
    MAX_TYPED_BYTES = 4 * 1024 * 1024,
    /* Maximum delay of the output's end after the record that announces it. */
    MARKER_GRACE_MS = 500,
    TTY_NAME_BYTES = 32,
};

struct shell {
    struct event_loop *loop;
    struct shell_events events;
    pid_t pid;
    bool is_bash;
    struct event_loop_child child;
    struct event_loop_source terminal; /* the master side */
    struct event_loop_source records;
    int command_fd; /* memory file */
    struct event_loop_timer grace;
    struct strbuf typed; /* input that the terminal has not accepted yet */
    char nonce[CRYPTO_TOKEN_BYTES];
    char key[64]; /* nonce;number of the running command */
    long number;
    bool recorded;
    bool marked;
    bool busy;
    struct strbuf record_bytes;
    struct strbuf record_texts;
    struct shell_record record;
    struct terminal_filter filter;
    int64_t last_output_ms;
};

/* A cooked terminal without echo, which would only repeat the input in the output. */
static void reset_terminal(int fd)
{
    struct termios mode;

    if (tcgetattr(fd, &mode) < 0)
        return;
    mode.c_iflag = ICRNL | IXON | IUTF8;
    mode.c_oflag = 0; /* newlines stay one byte: nothing is displayed, and it is twice as fast */
    mode.c_cflag = CS8 | CREAD | B38400;
    mode.c_lflag = ISIG | ICANON | IEXTEN | ECHOCTL | ECHOK;
    mode.c_cc[VINTR] = 3;
    mode.c_cc[VQUIT] = 28;
    mode.c_cc[VERASE] = 127;
    mode.c_cc[VKILL] = 21;
    mode.c_cc[VEOF] = 4;
    mode.c_cc[VSUSP] = 26;
    (void)tcsetattr(fd, TCSANOW, &mode);
}

static int open_terminal(int *master_out, int *slave_out, struct error *err)
{
    CLEANUP(fd_close) int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    struct winsize size = {.ws_row = ROWS, .ws_col = COLUMNS};
    char name[TTY_NAME_BYTES] = "";
    int slave = -1;

    if (master < 0)
        return error_set(err, ERROR_UNAVAILABLE, "opening a pseudo-terminal: %m");
    if (grantpt(master) < 0 || unlockpt(master) < 0 || ptsname_r(master, name, sizeof(name)) != 0)
        return error_set(err, ERROR_UNAVAILABLE, "preparing a pseudo-terminal: %m");
    slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0)
        return error_set(err, ERROR_UNAVAILABLE, "opening %s: %m", name);
    reset_terminal(slave);
    (void)ioctl(slave, TIOCSWINSZ, &size);
    *master_out = fd_take(&master);
    *slave_out = slave;
    return 0;
}

static void finish_if_complete(struct shell *shell)
{
    if (!shell->busy || !shell->recorded || !shell->marked)
        return;
    shell->busy = false;
    event_loop_timer_clear(shell->loop, &shell->grace);
    reset_terminal(shell->terminal.fd);
    shell->events.prompted(shell->events.owner);
}

static void on_grace_over(void *owner)
{
    struct shell *shell = owner;

    shell->marked = true;
    finish_if_complete(shell);
}

static void feed(struct shell *shell, const char *bytes, size_t len)
{
    size_t used = 0;
    bool marked = false;

    shell->last_output_ms = clock_monotonic_ms();
    while (used < len) {
        used += terminal_filter_feed(&shell->filter, bytes + used, len - used, &marked);
        shell->marked |= marked;
    }
}

static void write_typed(struct shell *shell)
{
    ssize_t n = 0;

    if (shell->typed.len > 0)
        n = write(shell->terminal.fd, shell->typed.text, shell->typed.len);
    if (n > 0)
        strbuf_remove_head(&shell->typed, (size_t)n);
    event_loop_change(shell->loop, &shell->terminal,
                      shell->typed.len > 0 ? (uint32_t)(EPOLLIN | EPOLLOUT) : (uint32_t)EPOLLIN);
}

/* Reads a limited amount, so that floods of output starve no other work; false at the end. */
static bool read_terminal(struct shell *shell)
{
    char bytes[READ_BYTES];
    ssize_t n = 0;

    for (int i = 0; i < READS_AT_ONCE; i++) {
        n = read(shell->terminal.fd, bytes, sizeof(bytes));
        if (n <= 0)
            break;
        feed(shell, bytes, (size_t)n);
    }
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static void on_terminal(void *owner, uint32_t events)
{
    struct shell *shell = owner;
    size_t extent = terminal_filter_extent(&shell->filter);

    if ((events & EPOLLOUT) != 0)
        write_typed(shell);
    /* All slave descriptors are closed: the shell is about to exit. */
    if (!read_terminal(shell) && (events & EPOLLHUP) != 0)
        event_loop_remove(shell->loop, &shell->terminal);
    if (shell->busy)
        finish_if_complete(shell);
    else if (terminal_filter_extent(&shell->filter) != extent)
        shell->events.printed(shell->events.owner);
}

/*
 * No process can write a record any more: a command has closed all descriptors, or replaced the
 * shell by `exec`. From now on only the marker reports the end of a command.
 */
static void lose_records(struct shell *shell)
{
    event_loop_remove(shell->loop, &shell->records);
    fd_close(&shell->records.fd);
    shell->record.exit_code = SHELL_EXIT_UNKNOWN;
    shell->record.background_pid = -1;
    shell->recorded = true;
    finish_if_complete(shell);
}

static void on_records(void *owner, uint32_t events)
{
    struct shell *shell = owner;
    char bytes[READ_BYTES];
    ssize_t n = read(shell->records.fd, bytes, sizeof(bytes));

    (void)events;
    if (n == 0) {
        lose_records(shell);
        return;
    }
    if (n > 0)
        strbuf_append_bytes(&shell->record_bytes, bytes, (size_t)n);
    if (!shell->busy ||
        !shell_record_next(&shell->record_bytes, shell->key, &shell->record_texts, &shell->record))
        return;
    shell->recorded = true;
    if (!shell->marked)
        (void)read_terminal(shell);
    if (!shell->marked)
        event_loop_timer_set(shell->loop, &shell->grace, MARKER_GRACE_MS);
    finish_if_complete(shell);
}

static void on_shell_exit(void *owner, int status)
{
    struct shell *shell = owner;
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);

    shell->pid = 0;
    for (int i = 0; i < DRAIN_ROUNDS && read_terminal(shell); i++)
        continue; /* a background job may print without end */
    shell->events.exited(shell->events.owner, code);
}

static int open_descriptors(struct shell *shell, int *slave_out, int *record_out, struct error *err)
{
    int pipe_fds[2] = {-1, -1};

    if (open_terminal(&shell->terminal.fd, slave_out, err) < 0)
        return -1;
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "pipe: %m");
    shell->records.fd = pipe_fds[0];
    *record_out = pipe_fds[1];
    (void)fcntl(shell->records.fd, F_SETFL, O_NONBLOCK);
    shell->command_fd = memfd_create("deft-command", MFD_CLOEXEC);
    if (shell->command_fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "memory file: %m");
    return 0;
}

static int start_process(struct shell *shell, const struct shell_spec *spec, const char *path,
                         struct error *err)
{
    CLEANUP(fd_close) int slave = -1;
    CLEANUP(fd_close) int record = -1;
    char bash[] = "bash";
    char sh[] = "sh";
    char noediting[] = "--noediting";
    char norc[] = "--norc";
    char interactive[] = "-i";
    char *bash_argv[] = {bash, noediting, spec->skip_rc ? norc : interactive, interactive, NULL};
    char *sh_argv[] = {sh, interactive, NULL};
    struct child_process_spec process = {
        .path = path,
        .argv = shell->is_bash ? bash_argv : sh_argv,
        .working_dir = spec->working_dir,
        .has_terminal = true,
        .n_fds = 6,
    };
    char **environment = NULL;
    int rc = 0;

    if (open_descriptors(shell, &slave, &record, err) < 0)
        return -1;
    process.fds = (const struct child_process_fd[]){
        {slave, STDIN_FILENO},
        {slave, STDOUT_FILENO},
        {slave, STDERR_FILENO},
        {shell->command_fd, shell->is_bash ? BASH_COMMAND_FD : SH_COMMAND_FD},
        {record, shell->is_bash ? BASH_RECORD_FD : SH_RECORD_FD},
        {slave, shell->is_bash ? BASH_TTY_FD : SH_TTY_FD},
    };
    environment = child_process_environment_new(CHILD_PROCESS_TERMINAL, spec->workspace);
    process.envp = environment;
    rc = child_process_start(&process, &shell->pid, err);
    child_process_environment_free(environment);
    return rc;
}

/* Puts text into the memory file and types the line that makes the shell read it. */
static int submit(struct shell *shell, const struct strbuf *text, const char *line,
                  struct error *err)
{
    if (ftruncate(shell->command_fd, 0) < 0 || lseek(shell->command_fd, 0, SEEK_SET) < 0)
        return error_set(err, ERROR_INTERNAL, "memory file: %m");
    if (fd_write_all(shell->command_fd, text->text, text->len, err) < 0)
        return -1;
    if (lseek(shell->command_fd, 0, SEEK_SET) < 0)
        return error_set(err, ERROR_INTERNAL, "memory file: %m");
    shell->busy = true;
    shell->recorded = shell->records.fd < 0;
    shell->marked = false;
    shell->last_output_ms = clock_monotonic_ms();
    shell_type(shell, line, strlen(line));
    return 0;
}

/* Numbers the next command and appends the assignment to *text. */
static void begin_command(struct shell *shell, struct strbuf *text)
{
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf marker = STRBUF_INIT;

    shell->number++;
    strbuf_appendf(&key, "%s;%ld", shell->nonce, shell->number);
    assert(key.len < sizeof(shell->key));
    memcpy(shell->key, key.text, key.len + 1);
    strbuf_appendf(&marker, "7770;%s", key.text);
    terminal_filter_set_marker(&shell->filter, marker.text);
    strbuf_appendf(text, "__deft_i=%ld\n", shell->number);
}

static int set_up(struct shell *shell, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    begin_command(shell, &text);
    strbuf_appendf(&text, "__deft_n='%s'\n", shell->nonce);
    strbuf_append(&text, shell->is_bash ? BASH_SETUP : SH_SETUP);
    if (shell->is_bash)
        strbuf_append_char(&text, '\0');
    return submit(shell, &text, shell->is_bash ? BASH_SETUP_LINE : SH_SETUP_LINE, err);
}

static int start_shell(struct shell *shell, const struct shell_spec *spec, struct error *err)
{
    CLEANUP(mem_freep) char *path = child_process_find_shell();

    if (path == NULL)
        return error_set(err, ERROR_NOT_FOUND, "there is no shell in this sandbox");
    shell->is_bash = child_process_shell_is_bash(path);
    if (start_process(shell, spec, path, err) < 0)
        return -1;
    shell->child.pid = shell->pid;
    event_loop_child_watch(shell->loop, &shell->child);
    if (event_loop_add(shell->loop, &shell->terminal, EPOLLIN, err) < 0)
        return -1;
    if (event_loop_add(shell->loop, &shell->records, EPOLLIN, err) < 0)
        return -1;
    return set_up(shell, err);
}

int shell_new(struct event_loop *loop, const struct shell_spec *spec,
              const struct shell_events *events, struct shell **shell_out, struct error *err)
{
    struct shell *shell = NEW(struct shell);

    shell->loop = loop;
    shell->events = *events;
    shell->child = (struct event_loop_child){.exited = on_shell_exit, .owner = shell};
    shell->terminal = (struct event_loop_source){-1, on_terminal, shell};
    shell->records = (struct event_loop_source){-1, on_records, shell};
    shell->grace = (struct event_loop_timer){.expired = on_grace_over, .owner = shell};
    shell->command_fd = -1;
    shell->typed = (struct strbuf)STRBUF_INIT;
    shell->record_bytes = (struct strbuf)STRBUF_INIT;
    shell->record_texts = (struct strbuf)STRBUF_INIT;
    shell->record = (struct shell_record){-1, -1, "", ""};
    terminal_filter_init(&shell->filter);
    shell->filter.is_plain = spec->is_plain;
    shell->filter.credentials = spec->credentials;
    shell->filter.save_dir = spec->save_dir;
    crypto_random_token(shell->nonce);
    if (start_shell(shell, spec, err) < 0) {
        shell_free(shell);
        return -1;
    }
    *shell_out = shell;
    return 0;
}

static pid_t foreground_group(const struct shell *shell)
{
    pid_t group = 0;

    if (ioctl(shell->terminal.fd, TIOCGPGRP, &group) < 0 || group <= 1)
        return shell->pid;
    return group;
}

/*
 * SIGHUP would make the shell end its background jobs: it is killed; only the foreground job gets
 * SIGHUP.
 */
static void end_process(const struct shell *shell)
{
    pid_t group = foreground_group(shell);

    (void)kill(shell->pid, SIGKILL);
    if (group != shell->pid)
        (void)kill(-group, SIGHUP);
}

void shell_free(struct shell *shell)
{
    if (shell == NULL)
        return;
    event_loop_child_forget(shell->loop, &shell->child);
    event_loop_timer_clear(shell->loop, &shell->grace);
    event_loop_remove(shell->loop, &shell->terminal);
    event_loop_remove(shell->loop, &shell->records);
    if (shell->pid > 0)
        end_process(shell);
    fd_close(&shell->terminal.fd);
    fd_close(&shell->records.fd);
    fd_close(&shell->command_fd);
    strbuf_done(&shell->typed);
    strbuf_done(&shell->record_bytes);
    strbuf_done(&shell->record_texts);
    terminal_filter_done(&shell->filter);
    mem_free(shell);
}

int shell_run(struct shell *shell, const char *exports, const char *command, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    begin_command(shell, &text);
    strbuf_append(&text, exports);
    if (shell->is_bash) {
        strbuf_append_char(&text, '\0');
        strbuf_append_bytes(&text, command, strlen(command) + 1);
    } else {
        strbuf_append(&text, "__deft_c=");
        shell_word_append(&text, command);
    }
    return submit(shell, &text, SHELL_COMMAND_LINE, err);
}

void shell_type(struct shell *shell, const char *bytes, size_t len)
{
    if (shell->typed.len + len > MAX_TYPED_BYTES)
        return; /* the program does not read its input */
    strbuf_append_bytes(&shell->typed, bytes, len);
    write_typed(shell);
}

void shell_signal(struct shell *shell, int number)
{
    if (shell->pid > 0)
        (void)kill(-foreground_group(shell), number);
}

struct terminal_filter *shell_output(struct shell *shell)
{
    return &shell->filter;
}

int64_t shell_last_output_ms(const struct shell *shell)
{
    return shell->last_output_ms;
}

const struct shell_record *shell_record(const struct shell *shell)
{
    return &shell->record;
}
