/* Names, looked up for sandboxes that may not go everywhere: those of their policy alone, here.
 * What a sandbox is told and what its rules let through are the same addresses. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "runtime/dns.h"
#include "runtime/egress.h"
#include "runtime/egress_parts.h"
#include "runtime/refusals.h"
#include "runtime/service.h"

/* As long as an answer says that it holds. */
#define FRESH_MS 60000
/* One sandbox's slow names leave room for the others'. */
#define AT_ONCE_OF_ONE 2

struct asked {
    unsigned char packet[DNS_PACKET_BYTES + 1];
    size_t len;
    struct sockaddr_in from;
    unsigned bridge_index;
    char bridge[IF_NAMESIZE];
    struct dns_question question;
};

struct addresses {
    uint32_t items[DNS_ADDRESSES_MAX]; /* in host order */
    size_t n;
    bool has_denied; /* some were none for sandboxes */
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

/* False when there is nothing, or nothing of a sandbox of ours. */
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
    ssize_t n = recvmsg(egress->dns_fd, &message, MSG_DONTWAIT);

    if (n <= 0)
        return false;
    asked->len = (size_t)n;
    asked->bridge_index = arrival_of(&message);
    return if_indextoname(asked->bridge_index, asked->bridge) != NULL &&
           bridge_find_network(egress->instance, asked->bridge, network) &&
           dns_read(asked->packet, asked->len, &asked->question);
}

static void answer(const struct egress *egress, const struct asked *asked, enum dns_verdict verdict,
                   const struct addresses *addresses)
{
    unsigned char packet[DNS_PACKET_BYTES];
    uint32_t in_network_order[DNS_ADDRESSES_MAX] = {0};
    size_t len = 0;

    for (size_t i = 0; i < addresses->n; i++)
        in_network_order[i] = htonl(addresses->items[i]);
    len = dns_answer(asked->packet, &asked->question, verdict, in_network_order, addresses->n,
                     packet);
    /* Who is not there any more asks no more. */
    if (sendto(egress->dns_fd, packet, len, MSG_DONTWAIT, (const struct sockaddr *)&asked->from,
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

/* --- looking up --- */

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

/* Rules first: who is told an address can go there. */
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
        answer(egress, asked, DNS_UNKNOWN, &addresses);
        return;
    }
    if (asked->question.type == DNS_TYPE_A)
        verdict = resolve(egress, asked, &addresses);
    if (addresses.has_denied && addresses.n == 0)
        refusals_note_name(service->refusals, asked->bridge_index, asked->question.name);
    if (verdict != DNS_OK)
        addresses.n = 0;
    answer(egress, asked, verdict, &addresses);
}

/* Waits until a sandbox may ask; -1 when the service ends before. */
static int wait_for_socket(struct egress *egress)
{
    int fd = -1;

    lock_take(&egress->lock);
    while (egress->dns_port == 0 && !egress->is_stopping)
        condition_wait(&egress->changed, &egress->lock);
    fd = egress->is_stopping ? -1 : egress->dns_fd;
    lock_release(&egress->lock);
    return fd;
}

void egress_run_resolver(struct service *service)
{
    struct egress *egress = service->egress;
    struct pollfd polled[2] = {{.fd = egress->stop_fd, .events = POLLIN},
                               {.fd = wait_for_socket(egress), .events = POLLIN}};

    if (polled[1].fd < 0)
        return;
    while (polled[0].revents == 0) {
        struct asked asked = {.len = 0};

        if (poll(polled, ARRAY_SIZE(polled), -1) < 0 && errno != EINTR) {
            log_error("egress.not_heard", LOG_STR("reason", "poll failed"));
            return;
        }
        if (receive(egress, &asked))
            serve(service, &asked);
    }
}
