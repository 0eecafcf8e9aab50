#include "runtime/egress/dns_tcp.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "runtime/core/service.h"
#include "runtime/egress/dns_answer.h"
#include "runtime/egress/dns_sockets.h"
#include "runtime/egress/egress_state.h"

/* RFC 1035, section 4.2.2: a message follows its length. */
#define LENGTH_BYTES 2
/* Time within which a whole query must arrive; also the next one, after a reply. */
#define QUERY_MS 250
/* Queries of one connection: a library sends those of one name, by A and AAAA, together. */
#define QUERIES_MAX 8

/* False if the bytes do not arrive by the deadline. */
static bool read_bytes(int fd, unsigned char *bytes, size_t len, int64_t deadline_ms)
{
    size_t at = 0;

    while (at < len) {
        struct pollfd polled = {.fd = fd, .events = POLLIN};
        int64_t left_ms = deadline_ms - clock_monotonic_ms();
        ssize_t n = 0;

        if (left_ms <= 0 || poll(&polled, 1, (int)left_ms) <= 0)
            return false;
        n = recv(fd, bytes + at, len - at, MSG_DONTWAIT);
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

/* Reads a query's packet; its length, 0: there is none, or it is too long for one. */
static size_t read_query(int fd, unsigned char packet[DNS_PACKET_BYTES])
{
    int64_t deadline_ms = clock_monotonic_ms() + QUERY_MS;
    unsigned char prefix[LENGTH_BYTES];
    size_t len = 0;

    if (!read_bytes(fd, prefix, sizeof(prefix), deadline_ms))
        return 0;
    len = (size_t)(prefix[0] << 8 | prefix[1]);
    if (len > DNS_PACKET_BYTES || !read_bytes(fd, packet, len, deadline_ms))
        return 0;
    return len;
}

/* A client that does not read its replies is not waited for. */
static bool send_reply(int fd, unsigned char *reply, size_t len)
{
    reply[0] = (unsigned char)(len >> 8);
    reply[1] = (unsigned char)len;
    return send(fd, reply, LENGTH_BYTES + len, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           (ssize_t)(LENGTH_BYTES + len);
}

void dns_tcp_serve(struct service *service, const struct dns_source *source, int fd)
{
    for (int i = 0; i < QUERIES_MAX; i++) {
        unsigned char packet[DNS_PACKET_BYTES];
        unsigned char reply[LENGTH_BYTES + DNS_PACKET_BYTES];
        size_t len = read_query(fd, packet);

        if (len > 0)
            len = dns_answer(service, source, packet, len, reply + LENGTH_BYTES);
        if (len == 0 || !send_reply(fd, reply, len))
            return;
    }
}

/* False if there is no descriptor for the bridge's socket or the connection. */
static bool accept_next(struct service *service, unsigned bridge_index)
{
    CLEANUP(fd_close) int listener = dns_sockets_copy(service->egress, DNS_TCP, bridge_index);
    CLEANUP(fd_close) int fd = -1;
    struct dns_source source = {.bridge_index = bridge_index};

    if (listener < 0)
        return false;
    fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return errno == EAGAIN || errno == ECONNABORTED || errno == EINTR;
    if (dns_source_find(service, bridge_index, &source))
        dns_tcp_serve(service, &source, fd);
    return true;
}

/* Resumes in any case: nothing else would arm the bridge's socket again. */
static void serve_next(struct service *service, unsigned bridge_index)
{
    if (!accept_next(service, bridge_index))
        dns_sockets_pause(service->egress);
    dns_sockets_resume(service->egress, bridge_index);
}

void dns_tcp_run(struct service *service)
{
    struct egress *egress = service->egress;

    for (;;) {
        struct epoll_event event = {.events = 0};
        int n = epoll_wait(egress->polls[DNS_TCP], &event, 1, -1);

        if (n < 0 && errno != EINTR) {
            log_error("dns.poll_failed", LOG_STR("reason", "epoll_wait failed"));
            return;
        }
        if (n > 0 && event.data.u32 == 0)
            return;
        if (n > 0)
            serve_next(service, event.data.u32);
    }
}
