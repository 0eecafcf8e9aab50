#include "gateway/ws/masked_input.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/ws/frame_heads.h"

/* One thread cannot serve more sockets than this. */
enum { SOCKETS_MAX = 65536 };

struct masked_socket {
    ino_t socket;      /* to detect a reused descriptor */
    size_t n_head_end; /* bytes of the head's end that were the last ones read */
    struct frame_heads heads;
    bool is_refused;
    masked_input_refuse *refuse;
    void *owner;
};

/* By descriptor; NULL: not watched. recv() has no other way to find a socket's state. */
/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): as above */
static struct masked_socket **sockets;
static size_t n_sockets;
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

int masked_input_open(struct error *err)
{
    struct rlimit limit = {0};

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return error_set(err, ERROR_INTERNAL, "getrlimit: %m");
    n_sockets = limit.rlim_cur < SOCKETS_MAX ? (size_t)limit.rlim_cur : SOCKETS_MAX;
    sockets = mem_alloc_array(n_sockets, sizeof(struct masked_socket *));
    return 0;
}

void masked_input_close(void)
{
    for (size_t i = 0; i < n_sockets; i++)
        mem_free(sockets[i]);
    mem_free(sockets);
    sockets = NULL;
    n_sockets = 0;
}

static struct masked_socket *find(int fd)
{
    return fd >= 0 && (size_t)fd < n_sockets ? sockets[fd] : NULL;
}

void masked_input_watch(int fd)
{
    struct stat found = {0};

    masked_input_forget(fd);
    if (fd < 0 || (size_t)fd >= n_sockets || fstat(fd, &found) < 0)
        return;
    sockets[fd] = NEW(struct masked_socket);
    sockets[fd]->socket = found.st_ino;
}

void masked_input_tell(int fd, masked_input_refuse *refuse, void *owner)
{
    struct masked_socket *watched = find(fd);

    if (watched == NULL)
        return;
    watched->refuse = refuse;
    watched->owner = owner;
    if (watched->is_refused)
        refuse(owner);
}

void masked_input_forget(int fd)
{
    if (find(fd) == NULL)
        return;
    mem_free(sockets[fd]);
    sockets[fd] = NULL;
}

/* Returns how many of the bytes belong to the request's head, which an empty line ends. */
static size_t skip_head(struct masked_socket *socket, const char *bytes, size_t len)
{
    static const char end[] = "\r\n\r\n";
    size_t n = 0;

    while (n < len && socket->n_head_end < sizeof(end) - 1) {
        if (bytes[n] == end[socket->n_head_end])
            socket->n_head_end++;
        else
            socket->n_head_end = bytes[n] == end[0];
        n++;
    }
    return n;
}

/* Returns how many of the bytes are of the head and of masked frames. */
static size_t read_masked(struct masked_socket *socket, const unsigned char *bytes, size_t len)
{
    size_t n = skip_head(socket, (const char *)bytes, len);

    return n + frame_heads_read(&socket->heads, bytes + n, len - n);
}

/* Returns how many of the bytes to pass on; 0 with EAGAIN when there are none. */
static ssize_t filter(struct masked_socket *watched, const void *bytes, size_t len)
{
    size_t n = watched->is_refused ? 0 : read_masked(watched, bytes, len);

    if (n < len && !watched->is_refused) {
        watched->is_refused = true;
        log_info("socket.unmasked_frame");
        if (watched->refuse != NULL)
            watched->refuse(watched->owner);
    }
    if (n > 0)
        return (ssize_t)n;
    errno = EAGAIN;
    return -1;
}

static bool is_still_watched(int fd, const struct masked_socket *watched)
{
    struct stat found = {0};

    return watched != NULL && fstat(fd, &found) == 0 && found.st_ino == watched->socket;
}

/* POSIX.1-2017, recv(). */
ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
    ssize_t n = recvfrom(fd, buffer, size, flags, NULL, NULL);
    struct masked_socket *watched = find(fd);

    if (n <= 0 || (flags & MSG_PEEK) != 0 || !is_still_watched(fd, watched))
        return n;
    return filter(watched, buffer, (size_t)n);
}
