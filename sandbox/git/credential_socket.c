#include "sandbox/git/credential_door.h"

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
#include "sandbox/core/loop.h"
#include "sandbox/git/credentials.h"
#include "sandbox/git/git_address.h"

enum { MAX_VISITS = 32, BACKLOG = 32, PATIENCE_MS = 10000 };

/* A connection of a program that asks. */
struct visit {
    struct credential_door *door;
    struct loop_source source;
    struct loop_timer patience;
    struct strbuf question;
    struct visit *next;
};

struct credential_door {
    struct loop *loop;
    const struct credentials *credentials;
    struct loop_source source;
    struct visit *visits;
    size_t n;
};

socklen_t credential_door_address(const char *name, struct sockaddr_un *address)
{
    size_t len = strlen(name);

    if (len > sizeof(address->sun_path) - 1)
        len = sizeof(address->sun_path) - 1;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    /* The first byte stays 0: an abstract name, outside the file system. */
    memcpy(address->sun_path + 1, name, len);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

static void visit_end(struct visit *visit)
{
    struct visit **link = &visit->door->visits;

    while (*link != visit)
        link = &(*link)->next;
    *link = visit->next;
    visit->door->n--;
    loop_timer_clear(visit->door->loop, &visit->patience);
    loop_remove(visit->door->loop, &visit->source);
    fd_close(&visit->source.fd);
    strbuf_done(&visit->question);
    mem_free(visit);
}

static void on_patience_over(void *owner)
{
    visit_end(owner);
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
        strbuf_appendf(out, "error=The credential for %s has expired; it has to be renewed.\n",
                       origin);
        return;
    case CREDENTIAL_UNKNOWN:
        strbuf_appendf(out,
                       "error=There is no credential for %s any more (the sandbox was restarted); "
                       "it has to be given again.\n",
                       origin);
        return;
    }
}

static void answer(const struct visit *visit)
{
    CLEANUP(strbuf_done) struct strbuf address = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf origin = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct credential_view view = {CREDENTIAL_UNKNOWN, "", ""};
    struct error ignored = ERROR_INIT;

    read_member(visit->question.text, "protocol", &address);
    strbuf_append(&address, "://");
    read_member(visit->question.text, "host", &address);
    if (!git_address_origin(address.text, &origin))
        return;
    view = credentials_find(visit->door->credentials, origin.text);
    append_answer(&view, origin.text, &text);
    error_ignore(fd_write_all(visit->source.fd, text.text, text.len, &ignored),
                 "who asked has gone; a socket takes so little at once");
    explicit_bzero(text.text, text.len);
}

static void on_question(void *owner, uint32_t events)
{
    struct visit *visit = owner;
    char bytes[CREDENTIAL_QUESTION_MAX_BYTES];
    ssize_t n = read(visit->source.fd, bytes, sizeof(bytes));

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        strbuf_append_bytes(&visit->question, bytes, (size_t)n);
    if (n > 0 && strstr(visit->question.text, "\n\n") == NULL &&
        visit->question.len < CREDENTIAL_QUESTION_MAX_BYTES)
        return;
    if (n > 0)
        answer(visit);
    visit_end(visit);
}

/* False for another user, or for another sandbox, whose processes have no pid here. */
static bool is_ours(int fd)
{
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid() &&
           peer.pid > 0;
}

static void admit(struct credential_door *door, int fd)
{
    struct visit *visit = NULL;
    struct error ignored = ERROR_INIT;

    if (door->n == MAX_VISITS || !is_ours(fd)) {
        fd_close(&fd);
        return;
    }
    visit = NEW(struct visit);
    *visit = (struct visit){.door = door,
                            .source = {fd, on_question, visit},
                            .patience = {.expired = on_patience_over, .owner = visit},
                            .question = STRBUF_INIT,
                            .next = door->visits};
    door->visits = visit;
    door->n++;
    loop_timer_set(door->loop, &visit->patience, PATIENCE_MS);
    if (loop_add(door->loop, &visit->source, EPOLLIN, &ignored) < 0)
        visit_end(visit);
}

static void on_knock(void *owner, uint32_t events)
{
    struct credential_door *door = owner;
    int fd = accept4(door->source.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)events;
    if (fd >= 0)
        admit(door, fd);
}

static int listen_on(const char *name, int *fd_out, struct error *err)
{
    CLEANUP(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address;
    socklen_t len = credential_door_address(name, &address);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, len) < 0 || listen(fd, BACKLOG) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "the socket for git's credentials: %m");
    *fd_out = fd_take(&fd);
    return 0;
}

int credential_door_open(struct loop *loop, const struct credentials *credentials,
                         struct credential_door **door_out, struct error *err)
{
    struct credential_door *door = NULL;
    char token[CRYPTO_TOKEN_BYTES];
    int fd = -1;

    crypto_random_token(token);
    if (listen_on(token, &fd, err) < 0)
        return -1;
    door = NEW(struct credential_door);
    door->loop = loop;
    door->credentials = credentials;
    door->source = (struct loop_source){fd, on_knock, door};
    if (loop_add(loop, &door->source, EPOLLIN, err) < 0) {
        credential_door_close(door);
        return -1;
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    (void)setenv(CREDENTIAL_DOOR_VARIABLE, token, 1);
    *door_out = door;
    return 0;
}

void credential_door_close(struct credential_door *door)
{
    if (door == NULL)
        return;
    while (door->visits != NULL)
        visit_end(door->visits);
    loop_remove(door->loop, &door->source);
    fd_close(&door->source.fd);
    mem_free(door);
}
