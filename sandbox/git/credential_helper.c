#include "sandbox/git/credential_helper.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/child_process.h"
#include "sandbox/git/credential_socket.h"

enum { READ_BYTES = 4096, ANSWER_MAX_BYTES = 65536 };

/* Tells git to ask no other helper. */
static const char quit[] = "quit=1\n";
static const char no_server[] = "The server that keeps this sandbox's credentials is not running.";
static const char no_answer[] = "There is no credential for this fetch any more.";

static void write_text(int fd, const char *text, size_t len)
{
    struct error ignored = ERROR_INIT;

    error_ignore(fd_write_all(fd, text, len, &ignored), "standard output may be closed");
}

/* Reads to the end, or up to the limit. */
static void read_all(int fd, struct strbuf *out)
{
    ssize_t n = 0;

    do {
        strbuf_reserve(out, READ_BYTES);
        n = read(fd, out->text + out->len, READ_BYTES);
        if (n > 0) {
            out->len += (size_t)n;
            out->text[out->len] = '\0';
        }
    } while ((n > 0 && out->len < CREDENTIAL_QUESTION_MAX_BYTES) || (n < 0 && errno == EINTR));
}

/* Passes on only protocol and host; git sends more, including text from a server. */
static void append_question(const char *asked, struct strbuf *out)
{
    for (const char *line = asked; *line != '\0';) {
        size_t len = strcspn(line, "\n");

        if (text_starts_with(line, "protocol=") || text_starts_with(line, "host=")) {
            strbuf_append_bytes(out, line, len);
            strbuf_append_char(out, '\n');
        }
        line += len;
        line += *line == '\n';
    }
    strbuf_append_char(out, '\n');
}

static int ask_server(const struct strbuf *question, struct strbuf *answer_out, struct error *err)
{
    CLEANUP(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const char *name = child_process_variable(CREDENTIAL_SOCKET_VARIABLE);
    struct sockaddr_un address;
    socklen_t len = credential_socket_address(name, &address);

    if (fd < 0 || name[0] == '\0' || connect(fd, (const struct sockaddr *)&address, len) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s", no_server);
    if (fd_write_all(fd, question->text, question->len, err) < 0)
        return -1;
    read_all(fd, answer_out);
    return 0;
}

static void refuse_credential(const char *words, size_t len)
{
    write_text(STDERR_FILENO, words, len);
    write_text(STDERR_FILENO, "\n", 1);
    write_text(STDOUT_FILENO, quit, strlen(quit));
}

/* The descriptor holds one copy of the answer for each time that git may ask. */
static int take_handed_answer(const char *number, struct strbuf *answer_out, struct error *err)
{
    int64_t fd = -1;
    ssize_t n = 0;

    if (text_parse_int(number, 0, INT_MAX, &fd, err) < 0)
        return -1;
    strbuf_reserve(answer_out, ANSWER_MAX_BYTES);
    n = recv((int)fd, answer_out->text, ANSWER_MAX_BYTES, MSG_DONTWAIT);
    if (n <= 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s", no_answer);
    answer_out->len = (size_t)n;
    answer_out->text[n] = '\0';
    return 0;
}

int credential_helper_run(const char *operation)
{
    const char *number = child_process_variable(CREDENTIAL_DESCRIPTOR_VARIABLE);
    CLEANUP(strbuf_done) struct strbuf asked = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf question = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)prctl(PR_SET_DUMPABLE, 0);
    if (!text_equal(operation, "get"))
        return EXIT_SUCCESS;
    read_all(STDIN_FILENO, &asked);
    append_question(asked.text, &question);
    if ((number[0] != '\0' ? take_handed_answer(number, &answer, &err)
                           : ask_server(&question, &answer, &err)) < 0)
        refuse_credential(err.message, strlen(err.message));
    else if (text_starts_with(answer.text, "error="))
        refuse_credential(answer.text + strlen("error="),
                          strcspn(answer.text, "\n") - strlen("error="));
    else
        write_text(STDOUT_FILENO, answer.text, answer.len);
    explicit_bzero(answer.text, answer.len);
    return EXIT_SUCCESS;
}
