#include "gateway/ws/acceptor.h"

#include <stddef.h>
#include <sys/socket.h>

#include <libwebsockets.h>

#include "base/file.h"
#include "gateway/core/listener.h"
#include "gateway/ws/masked_input.h"

/* Limit per turn of the loop. */
enum { ACCEPTS_MAX = 64 };

int acceptor_open(struct acceptor *acceptor, struct lws_context *lws, const char *socket_path,
                  struct error *err)
{
    acceptor->lws = lws;
    return listener_open(socket_path, &acceptor->listen_fd, err);
}

void acceptor_close(struct acceptor *acceptor)
{
    fd_close(&acceptor->listen_fd);
}

void acceptor_pump(const struct acceptor *acceptor)
{
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        int fd = accept4(acceptor->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
            return;
        masked_input_watch(fd);
        /* On failure libwebsockets closes the connection. */
        if (lws_adopt_socket(acceptor->lws, fd) == NULL)
            masked_input_forget(fd);
    }
}
