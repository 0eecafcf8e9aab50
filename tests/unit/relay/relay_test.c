/*
 * deft-relay as a process: what passes, what is dropped, and that its writers never block.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sysexits.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "support/program.h"

#ifndef DEFT_RELAY /* for tools that read this file alone */
#define DEFT_RELAY "./deft-relay"
#endif

/* A command that takes nothing before the file at $1 exists. */
#define STALLED "while ! test -e \"$1\"; do sleep 0.05; done; exec cat"
#define NOTE_END " lines dropped, the log could not take them\n"

enum { LINE_BYTES = 100, N_LINES = 10000, PENDING_BYTES = 65536, CHUNK_BYTES = 16384 };

static void send_all(const struct program *program, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(program->in_fd, bytes, len);

        assert_true(n > 0);
        bytes += n;
        len -= (size_t)n;
    }
}

static struct program start(const char *script, const char *argument)
{
    char relay[] = DEFT_RELAY;
    char *arguments[] = {relay,
                         (char *)(uintptr_t)"/bin/sh",
                         (char *)(uintptr_t)"-c",
                         (char *)(uintptr_t)script,
                         (char *)(uintptr_t)"sh",
                         (char *)(uintptr_t)argument,
                         NULL};

    return program_start(arguments);
}

static void command_is_needed(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
    char relay[] = DEFT_RELAY;
    char none[] = "/nonexistent/command";

    (void)state;
    assert_int_equal(program_run((char *[]){relay, NULL}, &out, &err), EX_USAGE);
    assert_string_equal(err.text, "Usage: deft-relay COMMAND [ARGUMENT...]\n");
    strbuf_reset(&err);
    assert_int_equal(program_run((char *[]){relay, none, NULL}, &out, &err), 0);
    assert_string_equal(err.text, "/nonexistent/command: No such file or directory\n");
    assert_string_equal(out.text, "");
}

static void lines_pass_unchanged(void **state)
{
    static const char *const texts[] = {"", "one\n", "one\ntwo\n\nfour\n", "no end", "a\nno end"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
        struct program program = start("exec cat", "");

        send_all(&program, texts[i], strlen(texts[i]));
        assert_int_equal(program_wait(&program, &out, &err), 0);
        assert_string_equal(out.text, texts[i]);
        assert_string_equal(err.text, "");
    }
}

static void append_lines(struct strbuf *text)
{
    for (int i = 0; i < N_LINES; i++)
        strbuf_appendf(text, "%06d%0*d\n", i, LINE_BYTES - 7, 0);
}

static void send_lines(const struct program *program, struct strbuf *sent)
{
    append_lines(sent);
    send_all(program, sent->text, sent->len);
}

/* More than all buffers hold: the relay waits for a command that is only slow. */
static void nothing_is_dropped_while_the_command_reads(void **state)
{
    CLEANUP(strbuf_done) struct strbuf sent = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
    struct program program = start("sleep 0.05; exec wc -c", "");

    (void)state;
    send_lines(&program, &sent);
    assert_int_equal(program_wait(&program, &out, &err), 0);
    assert_int_equal(strtol(out.text, NULL, 10), LINE_BYTES * N_LINES);
}

/* What the command did not accept at once follows without more input. */
static void lines_pass_while_the_input_stays_open(void **state)
{
    CLEANUP(strbuf_done) struct strbuf sent = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct program program = start("sleep 0.2; exec cat", "");

    (void)state;
    strbuf_append_char(&sent, '\n');
    while (sent.len < 2 * PENDING_BYTES - CHUNK_BYTES)
        strbuf_append(&sent, "a line that is sent and not followed by any other for a while\n");
    send_all(&program, sent.text, sent.len);
    while (out.len < sent.len) {
        char bytes[CHUNK_BYTES];
        ssize_t n = read(program.out_fd, bytes, sizeof(bytes));

        assert_true(n > 0);
        strbuf_append_bytes(&out, bytes, (size_t)n);
    }
    assert_string_equal(out.text, sent.text);
    strbuf_reset(&out);
    assert_int_equal(program_wait(&program, &out, &out), 0);
    assert_string_equal(out.text, "");
}

static void want_of_descriptors_is_said(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
    struct program program = program_start((char *[]){
        (char *)(uintptr_t)"/bin/sh", (char *)(uintptr_t)"-c",
        (char *)(uintptr_t)"ulimit -n 4; exec \"$0\" cat", (char *)(uintptr_t)DEFT_RELAY, NULL});

    (void)state;
    assert_int_equal(program_wait(&program, &out, &err), EX_OSERR);
    assert_string_equal(err.text, "deft-relay: Too many open files\n");
    assert_string_equal(out.text, "");
}

/* Lines may be split and joined anywhere. */
static void long_lines_pass_in_pieces(void **state)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
    struct program program = start("exec cat", "");

    (void)state;
    while (line.len < PENDING_BYTES - 128 - 1)
        strbuf_append_char(&line, 'x');
    strbuf_append(&line, "\n"); /* the longest that fits beside a note */
    send_all(&program, line.text, line.len);
    assert_int_equal(program_wait(&program, &out, &err), 0);
    assert_int_equal(out.len, line.len);
    assert_string_equal(out.text, line.text);
}

static void line_that_never_fits_is_dropped_whole(void **state)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
    struct program program = start("exec cat", "");

    (void)state;
    strbuf_append(&line, "before\n");
    while (line.len < 7 + PENDING_BYTES - 128)
        strbuf_append_char(&line, 'x');
    strbuf_append(&line, "\nafter\nlast\n");
    send_all(&program, line.text, line.len);
    assert_int_equal(program_wait(&program, &out, &err), 0);
    assert_true(text_starts_with(out.text, "before\n"));
    assert_null(strchr(out.text, 'x'));
    assert_non_null(strstr(out.text, "after\nlast\n"));
}

/* Writes without waiting for the command, and afterwards holds what came against what was sent. */
static void stalled_command_loses_lines_but_blocks_nobody(void **state)
{
    CLEANUP(strbuf_done) struct strbuf sent = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
    char path[] = "/tmp/deft-relay-test.XXXXXX";
    int fd = mkstemp(path);
    struct program program = {.pid = -1};
    const char *note = NULL;
    long n_dropped = 0;
    long n_lines = 0;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    program = start(STALLED, path);
    send_lines(&program, &sent); /* returns although the command takes nothing */
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(program_wait(&program, &out, &err), 0);
    (void)unlink(path);
    note = strstr(out.text, "deft-relay: ");
    assert_non_null(note);
    assert_int_equal(note[-1], '\n');
    n_dropped = strtol(note + strlen("deft-relay: "), NULL, 10);
    assert_true(text_starts_with(strchr(note + strlen("deft-relay: "), ' '), NOTE_END));
    assert_int_equal((note - out.text) % LINE_BYTES, 0);
    n_lines = (note - out.text) / LINE_BYTES;
    assert_memory_equal(out.text, sent.text, (size_t)(note - out.text)); /* the first ones */
    for (const char *at = strchr(note, '\n') + 1; *at != '\0'; at = strchr(at, '\n') + 1)
        n_lines++;
    assert_int_equal(n_lines + n_dropped, N_LINES);
    /* What fits the pipe and the buffer was kept. */
    assert_true(n_lines * LINE_BYTES > PENDING_BYTES);
}

/* Until the relay has read all that was sent. */
static void await_read(const struct program *program)
{
    int n_left = 1;

    while (n_left > 0)
        assert_int_equal(ioctl(program->in_fd, FIONREAD, &n_left), 0);
}

/* A line that was begun ends before the note. */
static void note_does_not_split_a_line(void **state)
{
    CLEANUP(strbuf_done) struct strbuf sent = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
    char path[] = "/tmp/deft-relay-test.XXXXXX";
    int fd = mkstemp(path);
    struct program program = {.pid = -1};
    const char *note = NULL;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    program = start(STALLED, path);
    send_lines(&program, &sent);
    send_all(&program, "p", 1);
    await_read(&program);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
    /* More than a pipe holds: the relay has written since. */
    while (out.len <= PENDING_BYTES) {
        char bytes[CHUNK_BYTES];
        ssize_t n = read(program.out_fd, bytes, sizeof(bytes));

        assert_true(n > 0);
        strbuf_append_bytes(&out, bytes, (size_t)n);
    }
    send_all(&program, "q\nend\n", 6);
    assert_int_equal(program_wait(&program, &out, &err), 0);
    (void)unlink(path);
    note = strstr(out.text, "deft-relay: ");
    assert_non_null(note);
    assert_int_equal(note[-1], '\n');
    assert_true(text_ends_with(out.text, "end\n") || text_ends_with(out.text, NOTE_END));
}

/* Its input is still open. */
static void relay_ends_with_its_command(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
    struct program program = start("exec 0<&-; echo gone", "");
    char byte = 0;
    int held = -1;

    (void)state;
    assert_int_equal(read(program.out_fd, &byte, 1), 1);
    held = fcntl(program.in_fd, F_DUPFD_CLOEXEC, 0);
    assert_int_equal(program_wait(&program, &out, &err), 0);
    assert_string_equal(out.text, "one\n"); /* "gone", less its first byte */
    (void)close(held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(command_is_needed),
        cmocka_unit_test(lines_pass_unchanged),
        cmocka_unit_test(nothing_is_dropped_while_the_command_reads),
        cmocka_unit_test(lines_pass_while_the_input_stays_open),
        cmocka_unit_test(want_of_descriptors_is_said),
        cmocka_unit_test(long_lines_pass_in_pieces),
        cmocka_unit_test(line_that_never_fits_is_dropped_whole),
        cmocka_unit_test(stalled_command_loses_lines_but_blocks_nobody),
        cmocka_unit_test(note_does_not_split_a_line),
        cmocka_unit_test(relay_ends_with_its_command),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests_name("relay", tests, NULL, NULL);
}
