#include "runtime/egress/dns_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/file.h"
#include "base/log.h"
#include "runtime/core/service.h"
#include "runtime/egress/dns_answer.h"
#include "runtime/egress/dns_sockets.h"
#include "runtime/egress/egress_state.h"

static unsigned arrival_of(struct msghdr *message)
{
    struct in_pktinfo info = {.ipi_ifindex = 0};

    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL;
         part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_PKTINFO)
            memcpy(&info, CMSG_DATA(part), sizeof(info));
    }
    return (unsigned)info.ipi_ifindex;
}

/* Reads a packet. 0: none is waiting, or it is not from the sandbox of this gateway. */
static size_t receive(int fd, unsigned bridge_index, struct sockaddr_in *from,
                      unsigned char packet[DNS_PACKET_BYTES + 1])
{
    char control[CMSG_SPACE(sizeof(struct in_pktinfo))] = "";
    struct iovec part = {.iov_base = packet, .iov_len = DNS_PACKET_BYTES + 1};
    struct msghdr message = {.msg_name = from,
                             .msg_namelen = sizeof(*from),
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT);

    return n > 0 && arrival_of(&message) == bridge_index ? (size_t)n : 0;
}

static void answer_packet(struct service *service, int fd, unsigned bridge_index)
{
    unsigned char packet[DNS_PACKET_BYTES + 1];
    unsigned char reply[DNS_PACKET_BYTES];
    struct sockaddr_in from = {.sin_family = AF_INET};
    struct dns_source source = {.bridge_index = bridge_index};
    size_t len = receive(fd, bridge_index, &from, packet);

    if (len == 0 || !dns_source_find(service, bridge_index, &source))
        return;
    len = dns_answer(service, &source, packet, len, reply);
    /* The sender may be gone already. */
    if (len > 0 &&
        sendto(fd, reply, len, MSG_DONTWAIT, (const struct sockaddr *)&from, sizeof(from)) < 0)
        log_debug("dns.reply_failed", LOG_STR("bridge", source.bridge));
}

void dns_server_run(struct service *service)
{
    struct egress *egress = service->egress;

    for (;;) {
        struct epoll_event event = {.events = 0};
        int n = epoll_wait(egress->polls[DNS_UDP], &event, 1, -1);

        if (n < 0 && errno != EINTR) {
            log_error("dns.poll_failed", LOG_STR("reason", "epoll_wait failed"));
            return;
        }
        if (n > 0 && event.data.u32 == 0)
            return;
        if (n > 0) {
            CLEANUP(fd_close) int fd = dns_sockets_copy(egress, DNS_UDP, event.data.u32);

            if (fd >= 0)
                answer_packet(service, fd, event.data.u32);
            else
                dns_sockets_pause(egress);
        }
    }
}
