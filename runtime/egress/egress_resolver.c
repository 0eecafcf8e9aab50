/* Resolves names for restricted sandboxes, only those that their policy allows. The addresses in
 * replies are the ones that the rules let through. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "runtime/core/service.h"
#include "runtime/egress/dns.h"
#include "runtime/egress/egress.h"
#include "runtime/egress/egress_parts.h"
#include "runtime/egress/refusals.h"

/* The time to live of replies. */
#define FRESH_MS 60000
/* Maximum of one sandbox, so that slow lookups do not block other sandboxes. */
#define AT_ONCE_OF_ONE 2

struct asked {
    unsigned char packet[DNS_PACKET_BYTES + 1];
    size_t len;
    struct sockaddr_in from;
    int fd; /* our own copy of the socket that received it */
    unsigned bridge_index;
    char bridge[IF_NAMESIZE];
    struct dns_question question;
};

struct addresses {
    uint32_t items[DNS_ADDRESSES_MAX]; /* in host order */
    size_t n;
    bool has_denied; /* some must not be reached by sandboxes */
};

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

/* False if there is no query, or none of the sandbox at this gateway. */
static bool receive(const struct egress *egress, struct asked *asked)
{
    char control[CMSG_SPACE(sizeof(struct in_pktinfo))] = "";
    char network[SPARE_NAME_BYTES] = "";
    struct iovec part = {.iov_base = asked->packet, .iov_len = sizeof(asked->packet)};
    struct msghdr message = {.msg_name = &asked->from,
                             .msg_namelen = sizeof(asked->from),
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(asked->fd, &message, MSG_DONTWAIT);

    if (n <= 0 || arrival_of(&message) != asked->bridge_index)
        return false;
    asked->len = (size_t)n;
    return if_indextoname(asked->bridge_index, asked->bridge) != NULL &&
           bridge_find_network(egress->instance, asked->bridge, network) &&
           dns_read(asked->packet, asked->len, &asked->question);
}

static void answer(const struct asked *asked, enum dns_verdict verdict,
                   const struct addresses *addresses)
{
    unsigned char packet[DNS_PACKET_BYTES];
    uint32_t in_network_order[DNS_ADDRESSES_MAX] = {0};
    size_t len = 0;

    for (size_t i = 0; i < addresses->n; i++)
        in_network_order[i] = htonl(addresses->items[i]);
    len = dns_answer(asked->packet, &asked->question, verdict, in_network_order, addresses->n,
                     packet);
    /* The sender may be gone already. */
    if (sendto(asked->fd, packet, len, MSG_DONTWAIT, (const struct sockaddr *)&asked->from,
               sizeof(asked->from)) < 0)
        log_debug("egress.not_answered", LOG_STR("bridge", asked->bridge));
}

static bool may_ask(struct egress *egress, const struct asked *asked)
{
    bool may = false;

    lock_take(&egress->lock);
    may = asked->question.name[0] != '\0' &&
          egress_policy_holds(egress_book_find(&egress->book, asked->bridge), asked->question.name);
    lock_release(&egress->lock);
    return may;
}

/* --- lookups --- */

static bool take_turn(struct egress *egress, const struct asked *asked, size_t *place_out)
{
    size_t n = 0;
    size_t place = EGRESS_RESOLVERS;

    lock_take(&egress->lock);
    for (size_t i = 0; i < EGRESS_RESOLVERS; i++) {
        if (egress->asking[i] == asked->bridge_index)
            n++;
        if (egress->asking[i] == 0)
            place = i;
    }
    if (n < AT_ONCE_OF_ONE && place < EGRESS_RESOLVERS)
        egress->asking[place] = asked->bridge_index;
    lock_release(&egress->lock);
    *place_out = place;
    return n < AT_ONCE_OF_ONE && place < EGRESS_RESOLVERS;
}

static void end_turn(struct egress *egress, size_t place)
{
    lock_take(&egress->lock);
    egress->asking[place] = 0;
    lock_release(&egress->lock);
}

static void add_address(struct addresses *addresses, uint32_t address)
{
    if (egress_is_denied(address)) {
        addresses->has_denied = true;
        return;
    }
    for (size_t i = 0; i < addresses->n; i++) {
        if (addresses->items[i] == address)
            return;
    }
    if (addresses->n < DNS_ADDRESSES_MAX)
        addresses->items[addresses->n++] = address;
}

static enum dns_verdict ask_system(const char *name, struct addresses *addresses)
{
    const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int rc = getaddrinfo(name, NULL, &wanted, &found);

    if (rc == EAI_NONAME || rc == EAI_NODATA)
        return DNS_UNKNOWN;
    if (rc != 0)
        return DNS_FAILED;
    for (const struct addrinfo *one = found; one != NULL; one = one->ai_next) {
        struct sockaddr_in address = {.sin_family = AF_INET};

        memcpy(&address, one->ai_addr, sizeof(address));
        add_address(addresses, ntohl(address.sin_addr.s_addr));
    }
    freeaddrinfo(found);
    return DNS_OK;
}

static enum dns_verdict look_up(struct egress *egress, const struct asked *asked,
                                struct addresses *addresses)
{
    enum dns_verdict verdict = DNS_FAILED;
    size_t place = 0;

    if (!take_turn(egress, asked, &place))
        return DNS_FAILED;
    verdict = ask_system(asked->question.name, addresses);
    end_turn(egress, place);
    return verdict;
}

static void recall(struct egress *egress, const char *name, struct addresses *addresses)
{
    lock_take(&egress->lock);
    addresses->n = egress_book_addresses(&egress->book, name, clock_monotonic_ms() - FRESH_MS,
                                         addresses->items, DNS_ADDRESSES_MAX);
    lock_release(&egress->lock);
}

/* Rules before the reply, so that the sandbox can connect at once. */
static enum dns_verdict let_through(struct egress *egress, const char *name,
                                    const struct addresses *addresses)
{
    struct error err = ERROR_INIT;
    bool is_news = false;

    lock_take(&egress->lock);
    for (size_t i = 0; i < addresses->n; i++)
        is_news =
            egress_book_learn(&egress->book, name, addresses->items[i], clock_monotonic_ms()) ||
            is_news;
    lock_release(&egress->lock);
    return is_news && egress_load(egress, &err) < 0 ? DNS_FAILED : DNS_OK;
}

static enum dns_verdict resolve(struct egress *egress, const struct asked *asked,
                                struct addresses *addresses)
{
    const char *name = asked->question.name;
    enum dns_verdict verdict = DNS_OK;

    recall(egress, name, addresses);
    if (addresses->n > 0)
        return DNS_OK;
    verdict = look_up(egress, asked, addresses);
    if (verdict == DNS_OK && addresses->n > 0)
        verdict = let_through(egress, name, addresses);
    return verdict;
}

static void serve(struct service *service, const struct asked *asked)
{
    struct egress *egress = service->egress;
    struct addresses addresses = {.n = 0};
    enum dns_verdict verdict = DNS_OK;

    if (!may_ask(egress, asked)) {
        refusals_note_name(service->refusals, asked->bridge_index,
                           asked->question.name[0] != '\0' ? asked->question.name : "?");
        answer(asked, DNS_UNKNOWN, &addresses);
        return;
    }
    if (asked->question.type == DNS_TYPE_A)
        verdict = resolve(egress, asked, &addresses);
    if (addresses.has_denied && addresses.n == 0)
        refusals_note_name(service->refusals, asked->bridge_index, asked->question.name);
    if (verdict != DNS_OK)
        addresses.n = 0;
    answer(asked, verdict, &addresses);
}

/* --- sockets --- */

static const struct egress_ear *find_ear_locked(const struct egress *egress, unsigned bridge_index)
{
    for (size_t i = 0; i < egress->n_ears; i++) {
        if (egress->ears[i].bridge_index == bridge_index)
            return &egress->ears[i];
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
        return error_set(err, ERROR_UNAVAILABLE, "the address of %s: %m", bridge);
    memcpy(&address, &request.ifr_addr, sizeof(address));
    *address_out = address.sin_addr;
    return 0;
}

/* Binds to that address only, which receives its own sandbox's packets alone. */
static int open_ear(const char *bridge, uint16_t port, int *fd_out, struct error *err)
{
    CLEANUP(fd_close) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int one = 1;

    if (fd < 0 || find_gateway(fd, bridge, &address.sin_addr, err) < 0)
        return fd < 0 ? error_set(err, ERROR_UNAVAILABLE, "a socket for names: %m") : -1;
    if (setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &one, sizeof(one)) < 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "a socket for names at %s, port %d: %m", bridge,
                         port);
    *fd_out = fd;
    fd = -1;
    return 0;
}

static int add_ear_locked(struct egress *egress, const char *bridge, unsigned bridge_index,
                          struct error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = bridge_index}};
    CLEANUP(fd_close) int fd = -1;

    if (open_ear(bridge, EGRESS_DNS_PORT(egress->resolver_port), &fd, err) < 0)
        return -1;
    if (epoll_ctl(egress->ears_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "epoll: %m");
    egress->ears = mem_resize(egress->ears, (egress->n_ears + 1) * sizeof(egress->ears[0]));
    egress->ears[egress->n_ears++] = (struct egress_ear){.bridge_index = bridge_index, .fd = fd};
    fd = -1;
    return 0;
}

int egress_listen(struct egress *egress, const char *bridge, struct error *err)
{
    unsigned bridge_index = if_nametoindex(bridge);
    int rc = 0;

    if (bridge_index == 0)
        return 0;
    lock_take(&egress->lock);
    if (find_ear_locked(egress, bridge_index) == NULL)
        rc = add_ear_locked(egress, bridge, bridge_index, err);
    lock_release(&egress->lock);
    return rc;
}

void egress_unlisten_gone(struct egress *egress)
{
    char name[IF_NAMESIZE] = "";

    lock_take(&egress->lock);
    for (size_t i = egress->n_ears; i > 0; i--) {
        struct egress_ear *ear = &egress->ears[i - 1];

        if (if_indextoname(ear->bridge_index, name) != NULL)
            continue;
        /* Explicitly: closing does not remove it from epoll while a thread has a copy. */
        (void)epoll_ctl(egress->ears_fd, EPOLL_CTL_DEL, ear->fd, NULL);
        fd_close(&ear->fd);
        *ear = egress->ears[--egress->n_ears];
    }
    lock_release(&egress->lock);
}

/* A copy, since the bridge and its socket may be gone before the reply. */
static int copy_socket(struct egress *egress, unsigned bridge_index)
{
    const struct egress_ear *ear = NULL;
    int fd = -1;

    lock_take(&egress->lock);
    ear = find_ear_locked(egress, bridge_index);
    if (ear != NULL)
        fd = fcntl(ear->fd, F_DUPFD_CLOEXEC, 0);
    lock_release(&egress->lock);
    return fd;
}

static void hear(struct service *service, unsigned bridge_index)
{
    struct asked asked = {.fd = copy_socket(service->egress, bridge_index),
                          .bridge_index = bridge_index};

    if (asked.fd >= 0 && receive(service->egress, &asked))
        serve(service, &asked);
    fd_close(&asked.fd);
}

void egress_run_resolver(struct service *service)
{
    struct egress *egress = service->egress;

    for (;;) {
        struct epoll_event event = {.events = 0};
        int n = epoll_wait(egress->ears_fd, &event, 1, -1);

        if (n < 0 && errno != EINTR) {
            log_error("egress.not_heard", LOG_STR("reason", "epoll_wait failed"));
            return;
        }
        if (n > 0 && event.data.u32 == 0)
            return;
        if (n > 0)
            hear(service, event.data.u32);
    }
}
