/* Parses NFLOG messages. No length is trusted: packets are written by sandboxes. */
#include <arpa/inet.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#include "runtime/egress/nflog.h"
#include "runtime/egress/tally.h"

#define PACKET_TYPE ((NFNL_SUBSYS_ULOG << 8) | NFULNL_MSG_PACKET)
#define REASON_BYTES 32
/* RFC 791, section 3.1 */
#define IP_HEADER_BYTES 20
#define IP_PROTOCOL_AT 9
#define IP_TARGET_AT 16
#define IP_FRAGMENT_AT 6
#define IP_FRAGMENT_MASK 0x1fff

struct span {
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
static bool read_ip(struct span ip, struct refused_packet *packet)
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

static enum refusal_reason read_reason(struct span value)
{
    char text[REASON_BYTES] = "";

    if (value.len >= sizeof(text))
        return REFUSED_N_REASONS;
    memcpy(text, value.bytes, value.len);
    return refusal_reason_from_string(text);
}

/* Parsed parts of a message. */
struct found {
    struct refused_packet packet;
    bool has_bridge;
    bool has_address;
};

static void read_attribute(struct found *found, unsigned type, struct span value)
{
    uint32_t index = 0;

    if (type == NFULA_IFINDEX_INDEV && value.len == sizeof(index)) {
        memcpy(&index, value.bytes, sizeof(index));
        found->packet.bridge_index = ntohl(index);
        found->has_bridge = true;
    } else if (type == NFULA_PREFIX) {
        found->packet.reason = read_reason(value);
    } else if (type == NFULA_PAYLOAD) {
        found->has_address = read_ip(value, &found->packet);
    }
}

static bool read_message(struct span rest, struct refused_packet *packet)
{
    struct found found = {.packet = {.reason = REFUSED_N_REASONS}};

    while (rest.len >= NLA_HDRLEN) {
        struct nlattr attribute;
        size_t whole = 0;

        memcpy(&attribute, rest.bytes, sizeof(attribute));
        if (attribute.nla_len < NLA_HDRLEN || attribute.nla_len > rest.len)
            break;
        read_attribute(&found, attribute.nla_type & NLA_TYPE_MASK,
                       (struct span){rest.bytes + NLA_HDRLEN, attribute.nla_len - NLA_HDRLEN});
        whole = NLA_ALIGN(attribute.nla_len);
        whole = whole < rest.len ? whole : rest.len;
        rest = (struct span){rest.bytes + whole, rest.len - whole};
    }
    *packet = found.packet;
    return found.has_bridge && found.has_address && packet->reason != REFUSED_N_REASONS;
}

void nflog_parse(const void *bytes, size_t len, nflog_each *each, void *context)
{
    struct span rest = {bytes, len};

    while (rest.len >= NLMSG_HDRLEN) {
        struct refused_packet packet = {.reason = REFUSED_N_REASONS};
        struct nlmsghdr header;
        size_t whole = 0;

        memcpy(&header, rest.bytes, sizeof(header));
        if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > rest.len)
            return;
        if (header.nlmsg_type == PACKET_TYPE &&
            header.nlmsg_len >= NLMSG_LENGTH(sizeof(struct nfgenmsg)) &&
            read_message((struct span){rest.bytes + NLMSG_LENGTH(sizeof(struct nfgenmsg)),
                                       header.nlmsg_len - NLMSG_LENGTH(sizeof(struct nfgenmsg))},
                         &packet))
            each(context, &packet);
        whole = NLMSG_ALIGN((size_t)header.nlmsg_len);
        whole = whole < rest.len ? whole : rest.len;
        rest = (struct span){rest.bytes + whole, rest.len - whole};
    }
}
