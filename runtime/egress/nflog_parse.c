#include "runtime/egress/nflog_parse.h"

#include <arpa/inet.h>
#include <limits.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#include <libmnl/libmnl.h>

#include "runtime/egress/denial_counter.h"

#define PACKET_TYPE ((NFNL_SUBSYS_ULOG << 8) | NFULNL_MSG_PACKET)
#define REASON_BYTES 32
/* RFC 791, section 3.1 */
#define IP_HEADER_BYTES 20
#define IP_PROTOCOL_AT 9
#define IP_TARGET_AT 16
#define IP_FRAGMENT_AT 6
#define IP_FRAGMENT_MASK 0x1fff

struct nflog_span {
    const unsigned char *bytes;
    size_t len;
};

static bool has_ports(uint8_t protocol)
{
    return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP ||
           protocol == IPPROTO_UDPLITE || protocol == IPPROTO_DCCP;
}

static uint16_t number16(const unsigned char *bytes)
{
    return (uint16_t)((bytes[0] << 8) | bytes[1]);
}

/* False if it is not an IPv4 packet. Later fragments and truncated packets have no port. */
static bool read_ip(struct nflog_span ip, struct denied_packet *packet)
{
    size_t header = 0;

    if (ip.len < IP_HEADER_BYTES || ip.bytes[0] >> 4 != 4)
        return false;
    header = (size_t)(ip.bytes[0] & 0x0f) * 4;
    if (header < IP_HEADER_BYTES)
        return false;
    packet->protocol = ip.bytes[IP_PROTOCOL_AT];
    memcpy(&packet->address_be, ip.bytes + IP_TARGET_AT, sizeof(packet->address_be));
    if (has_ports(packet->protocol) && ip.len >= header + 4 &&
        (number16(ip.bytes + IP_FRAGMENT_AT) & IP_FRAGMENT_MASK) == 0)
        packet->port = number16(ip.bytes + header + 2);
    return true;
}

static enum denial_reason read_reason(struct nflog_span value)
{
    char text[REASON_BYTES] = "";

    if (value.len >= sizeof(text))
        return DENIED_N_REASONS;
    memcpy(text, value.bytes, value.len);
    return denial_reason_from_string(text);
}

/* Parsed parts of a message. */
struct found {
    struct denied_packet packet;
    bool has_bridge;
    bool has_address;
};

static int read_attribute(const struct nlattr *attribute, void *context)
{
    struct found *found = context;
    struct nflog_span value = {mnl_attr_get_payload(attribute),
                               mnl_attr_get_payload_len(attribute)};

    switch (mnl_attr_get_type(attribute)) {
    case NFULA_IFINDEX_INDEV:
        found->has_bridge = value.len == sizeof(uint32_t);
        found->packet.bridge_index = found->has_bridge ? ntohl(mnl_attr_get_u32(attribute)) : 0;
        break;
    case NFULA_PREFIX:
        found->packet.reason = read_reason(value);
        break;
    case NFULA_PAYLOAD:
        found->has_address = read_ip(value, &found->packet);
        break;
    default:
        break;
    }
    return MNL_CB_OK;
}

static bool read_message(const struct nlmsghdr *header, struct denied_packet *packet)
{
    struct found found = {.packet = {.reason = DENIED_N_REASONS}};

    if (mnl_attr_parse(header, sizeof(struct nfgenmsg), read_attribute, &found) < MNL_CB_STOP)
        return false;
    *packet = found.packet;
    return found.has_bridge && found.has_address && packet->reason != DENIED_N_REASONS;
}

void nflog_parse(const void *bytes, size_t len, nflog_each *each, void *context)
{
    const struct nlmsghdr *header = bytes;
    int rest = len < INT_MAX ? (int)len : INT_MAX;

    /*
     * libmnl compares lengths as signed numbers, so that one of 2^31 or more passes, and it reads
     * attributes up to the aligned end of a message.
     */
    while (mnl_nlmsg_ok(header, rest) && header->nlmsg_len <= (unsigned)rest &&
           NLMSG_ALIGN(header->nlmsg_len) <= (unsigned)rest) {
        struct denied_packet packet = {.reason = DENIED_N_REASONS};

        if (header->nlmsg_type == PACKET_TYPE && read_message(header, &packet))
            each(context, &packet);
        header = mnl_nlmsg_next(header, &rest);
    }
}
