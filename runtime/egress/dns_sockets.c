#include "runtime/egress/dns_sockets.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "runtime/egress/egress_state.h"

#define BACKLOG 8
/* Pause while descriptors are short. */
#define PAUSE_MS 100

static const struct dns_socket *find_socket_locked(const struct egress *egress,
                                                   unsigned bridge_index)
{
    for (size_t i = 0; i < egress->n_dns_sockets; i++) {
        if (egress->dns_sockets[i].bridge_index == bridge_index)
            return &egress->dns_sockets[i];
    }
    return NULL;
}

/* The first address of an interface, to which REDIRECT sends packets. */
static int find_gateway(int fd, const char *bridge, struct in_addr *address_out, struct error *err)
{
    struct ifreq request = {.ifr_name = ""};
    struct sockaddr_in address = {.sin_family = AF_INET};

    memcpy(request.ifr_name, bridge, strnlen(bridge, sizeof(request.ifr_name) - 1));
    if (ioctl(fd, SIOCGIFADDR, &request) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "reading the address of %s: %m", bridge);
    memcpy(&address, &request.ifr_addr, sizeof(address));
    *address_out = address.sin_addr;
    return 0;
}

/* Only connections with data are accepted, and only those that came through the bridge. */
static int listen_tcp(int fd, const char *bridge)
{
    const int one = 1;
    const int first_data_s = 1;

    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, bridge, (socklen_t)strlen(bridge)) < 0)
        return -1;
    return setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &first_data_s, sizeof(first_data_s));
}

/* Binds to the gateway only, which receives its own sandbox's packets alone. */
static int open_socket(const char *bridge, enum dns_protocol protocol, uint16_t port, int *fd_out,
                       struct error *err)
{
    int type = protocol == DNS_UDP ? SOCK_DGRAM : SOCK_STREAM;
    CLEANUP(fd_close) int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int one = 1;

    if (fd < 0 || find_gateway(fd, bridge, &address.sin_addr, err) < 0)
        return fd < 0 ? error_set(err, ERROR_UNAVAILABLE, "creating a DNS socket: %m") : -1;
    if ((protocol == DNS_UDP ? setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &one, sizeof(one))
                             : listen_tcp(fd, bridge)) < 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        (protocol == DNS_TCP && listen(fd, BACKLOG) < 0))
        return error_set(err, ERROR_UNAVAILABLE, "binding a DNS socket to %s, port %d: %m", bridge,
                         port);
    *fd_out = fd_take(&fd);
    return 0;
}

/* One thread at a time takes connections of a bridge: dns_sockets_resume() arms it again. */
static struct epoll_event poll_event(enum dns_protocol protocol, unsigned bridge_index)
{
    return (struct epoll_event){.events = protocol == DNS_TCP ? EPOLLIN | EPOLLONESHOT : EPOLLIN,
                                .data = {.u32 = bridge_index}};
}

static int open_polled(struct egress *egress, const char *bridge, enum dns_protocol protocol,
                       struct dns_socket *socket, struct error *err)
{
    struct epoll_event event = poll_event(protocol, socket->bridge_index);

    if (open_socket(bridge, protocol, EGRESS_DNS_PORT(egress->resolver_port),
                    &socket->fds[protocol], err) < 0)
        return -1;
    if (epoll_ctl(egress->polls[protocol], EPOLL_CTL_ADD, socket->fds[protocol], &event) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "epoll: %m");
    return 0;
}

static int add_socket_locked(struct egress *egress, const char *bridge, unsigned bridge_index,
                             struct error *err)
{
    struct dns_socket added = {.bridge_index = bridge_index, .fds = {-1, -1}};

    if (open_polled(egress, bridge, DNS_UDP, &added, err) < 0 ||
        open_polled(egress, bridge, DNS_TCP, &added, err) < 0) {
        dns_socket_close(&added);
        return -1;
    }
    egress->dns_sockets = mem_resize(egress->dns_sockets,
                                     (egress->n_dns_sockets + 1) * sizeof(egress->dns_sockets[0]));
    egress->dns_sockets[egress->n_dns_sockets++] = added;
    return 0;
}

int dns_sockets_open(struct egress *egress, const char *bridge, struct error *err)
{
    unsigned bridge_index = if_nametoindex(bridge);
    int rc = 0;

    if (bridge_index == 0)
        return 0;
    lock_take(&egress->lock);
    if (find_socket_locked(egress, bridge_index) == NULL)
        rc = add_socket_locked(egress, bridge, bridge_index, err);
    lock_release(&egress->lock);
    return rc;
}

void dns_sockets_close_gone(struct egress *egress)
{
    char name[IF_NAMESIZE] = "";

    lock_take(&egress->lock);
    for (size_t i = egress->n_dns_sockets; i > 0; i--) {
        struct dns_socket *dns_socket = &egress->dns_sockets[i - 1];

        if (if_indextoname(dns_socket->bridge_index, name) != NULL)
            continue;
        /* Explicitly: closing does not remove it from epoll while a thread has a copy. */
        for (size_t k = 0; k < DNS_N_PROTOCOLS; k++)
            (void)epoll_ctl(egress->polls[k], EPOLL_CTL_DEL, dns_socket->fds[k], NULL);
        dns_socket_close(dns_socket);
        *dns_socket = egress->dns_sockets[--egress->n_dns_sockets];
    }
    lock_release(&egress->lock);
}

int dns_sockets_copy(struct egress *egress, enum dns_protocol protocol, unsigned bridge_index)
{
    const struct dns_socket *dns_socket = NULL;
    int fd = -1;

    lock_take(&egress->lock);
    dns_socket = find_socket_locked(egress, bridge_index);
    if (dns_socket != NULL)
        fd = fcntl(dns_socket->fds[protocol], F_DUPFD_CLOEXEC, 0);
    lock_release(&egress->lock);
    return fd;
}

void dns_sockets_resume(struct egress *egress, unsigned bridge_index)
{
    struct epoll_event event = poll_event(DNS_TCP, bridge_index);
    const struct dns_socket *dns_socket = NULL;

    lock_take(&egress->lock);
    dns_socket = find_socket_locked(egress, bridge_index);
    if (dns_socket != NULL &&
        epoll_ctl(egress->polls[DNS_TCP], EPOLL_CTL_MOD, dns_socket->fds[DNS_TCP], &event) < 0)
        log_warning("dns.poll_failed", LOG_STR("reason", "epoll_ctl failed"));
    lock_release(&egress->lock);
}

void dns_sockets_pause(struct egress *egress)
{
    struct pollfd stop = {.fd = egress->stop_fd, .events = POLLIN};

    (void)poll(&stop, 1, PAUSE_MS);
}

void dns_socket_close(struct dns_socket *socket)
{
    for (size_t i = 0; i < DNS_N_PROTOCOLS; i++)
        fd_close(&socket->fds[i]);
}
