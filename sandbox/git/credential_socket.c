#include "sandbox/git/credential_socket.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/connection_acceptor.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/git/credentials.h"
#include "sandbox/git/git_address.h"

enum { MAX_QUERIES = 32, BACKLOG = 32, QUERY_WITHIN_MS = 10000 };

/* A connection of a program that asks. */
struct credential_query {
    struct credential_socket *listener;
    struct event_loop_source source;
    struct event_loop_timer deadline;
    struct strbuf question;
    struct credential_query *next;
};

struct credential_socket {
    struct event_loop *loop;
    const struct credentials *credentials;
    struct connection_acceptor acceptor;
    struct credential_query *queries;
};

socklen_t credential_socket_address(const char *name, struct sockaddr_un *address)
{
    size_t len = strlen(name);

    if (len > sizeof(address->sun_path) - 1)
        len = sizeof(address->sun_path) - 1;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    /* The first byte stays 0: an abstract name, outside the file system. */
    memcpy(address->sun_path + 1, name, len);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

static void query_end(struct credential_query *query)
{
    struct credential_query **link = &query->listener->queries;

    while (*link != query)
        link = &(*link)->next;
    *link = query->next;
    query->listener->acceptor.n_open--;
    event_loop_timer_clear(query->listener->loop, &query->deadline);
    event_loop_remove(query->listener->loop, &query->source);
    fd_close(&query->source.fd);
    strbuf_done(&query->question);
    mem_free(query);
}

static void on_deadline(void *owner)
{
    query_end(owner);
}

/* The value of a line "name=value" of the question; "" without one. */
static void read_member(const char *question, const char *name, struct strbuf *out)
{
    size_t len = strlen(name);

    for (const char *line = question; *line != '\0';) {
        size_t line_len = strcspn(line, "\n");

        if (strncmp(line, name, len) == 0 && line[len] == '=') {
            strbuf_append_bytes(out, line + len + 1, line_len - len - 1);
            return;
        }
        line += line_len;
        line += *line == '\n';
    }
}

static void append_answer(const struct credential_view *view, const char *origin,
                          struct strbuf *out)
{
    switch (view->state) {
    case CREDENTIAL_VALID:
        strbuf_appendf(out, "username=%s\npassword=%s\n", view->username, view->password);
        return;
    case CREDENTIAL_EXPIRED:
        strbuf_appendf(out, "error=The credential for %s has expired; it must be renewed.\n",
                       origin);
        return;
    case CREDENTIAL_UNKNOWN:
        strbuf_appendf(out,
                       "error=There is no credential for %s any more (the sandbox was restarted); "
                       "it must be set again.\n",
                       origin);
        return;
    }
}

static void answer_query(const struct credential_query *query)
{
    CLEANUP(strbuf_done) struct strbuf address = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf origin = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct credential_view view = {CREDENTIAL_UNKNOWN, "", ""};
    struct error ignored = ERROR_INIT;

    read_member(query->question.text, "protocol", &address);
    strbuf_append(&address, "://");
    read_member(query->question.text, "host", &address);
    if (!git_address_origin(address.text, &origin))
        return;
    view = credentials_find(query->listener->credentials, origin.text);
    append_answer(&view, origin.text, &text);
    error_ignore(fd_write_all(query->source.fd, text.text, text.len, &ignored),
                 "the client may have closed; the reply fits into a socket buffer");
    explicit_bzero(text.text, text.len);
}

static void on_question(void *owner, uint32_t events)
{
    struct credential_query *query = owner;
    char bytes[CREDENTIAL_QUESTION_MAX_BYTES];
    ssize_t n = read(query->source.fd, bytes, sizeof(bytes));

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        strbuf_append_bytes(&query->question, bytes, (size_t)n);
    if (n > 0 && strstr(query->question.text, "\n\n") == NULL &&
        query->question.len < CREDENTIAL_QUESTION_MAX_BYTES)
        return;
    if (n > 0)
        answer_query(query);
    query_end(query);
}

/* False for another user, or for another sandbox, whose processes have no pid here. */
static bool is_ours(int fd)
{
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid() &&
           peer.pid > 0;
}

static void on_accepted(void *owner, int fd)
{
    struct credential_socket *listener = owner;
    struct credential_query *query = NULL;
    struct error ignored = ERROR_INIT;

    if (!is_ours(fd)) {
        fd_close(&fd);
        return;
    }
    query = NEW(struct credential_query);
    *query = (struct credential_query){.listener = listener,
                                       .source = {fd, on_question, query},
                                       .deadline = {.expired = on_deadline, .owner = query},
                                       .question = STRBUF_INIT,
                                       .next = listener->queries};
    listener->queries = query;
    listener->acceptor.n_open++;
    event_loop_timer_set(listener->loop, &query->deadline, QUERY_WITHIN_MS);
    if (event_loop_add(listener->loop, &query->source, EPOLLIN, &ignored) < 0)
        query_end(query);
}

static int listen_on(const char *name, int *fd_out, struct error *err)
{
    CLEANUP(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address;
    socklen_t len = credential_socket_address(name, &address);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, len) < 0 || listen(fd, BACKLOG) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "the socket for git's credentials: %m");
    *fd_out = fd_take(&fd);
    return 0;
}

int credential_socket_open(struct event_loop *loop, const struct credentials *credentials,
                           struct credential_socket **socket_out, struct error *err)
{
    struct credential_socket *listener = NULL;
    char token[CRYPTO_TOKEN_BYTES];
    int fd = -1;

    crypto_random_token(token);
    if (listen_on(token, &fd, err) < 0)
        return -1;
    listener = NEW(struct credential_socket);
    listener->loop = loop;
    listener->credentials = credentials;
    listener->acceptor = (struct connection_acceptor){
        .source = {.fd = fd}, .accepted = on_accepted, .owner = listener, .n_max = MAX_QUERIES};
    if (connection_acceptor_start(&listener->acceptor, loop, err) < 0) {
        credential_socket_close(listener);
        return -1;
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    (void)setenv(CREDENTIAL_SOCKET_VARIABLE, token, 1);
    *socket_out = listener;
    return 0;
}

void credential_socket_close(struct credential_socket *listener)
{
    if (listener == NULL)
        return;
    while (listener->queries != NULL)
        query_end(listener->queries);
    connection_acceptor_done(&listener->acceptor);
    mem_free(listener);
}
