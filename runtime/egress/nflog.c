#include "runtime/egress/nflog.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

#define GROUP_TRIES 16
#define ANSWER_S 5
/* The kernel reports after this many packets or after this time (in 1/100 s). */
#define PACKETS_AT_ONCE 64
#define HANDOVER_CENTISECONDS 10
#define COMMAND_BYTES 64

struct command {
    struct nlmsghdr header;
    struct nfgenmsg message;
    unsigned char attributes[COMMAND_BYTES];
};

static void put_attribute(struct command *command, uint16_t type, const void *value, size_t len)
{
    size_t at = command->header.nlmsg_len - NLMSG_LENGTH(sizeof(struct nfgenmsg));
    struct nlattr attribute = {.nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = type};

    memcpy(command->attributes + at, &attribute, sizeof(attribute));
    memcpy(command->attributes + at + NLA_HDRLEN, value, len);
    command->header.nlmsg_len += (uint32_t)NLA_ALIGN(NLA_HDRLEN + len);
}

static struct command new_command(uint16_t group)
{
    return (struct command){
        .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct nfgenmsg)),
                   .nlmsg_type = (NFNL_SUBSYS_ULOG << 8) | NFULNL_MSG_CONFIG,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
        .message = {.nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = htons(group)},
    };
}

/* The kernel's acknowledgement: 0, or an errno. Packets may precede it. */
static int read_answer(int fd)
{
    unsigned char bytes[8192];
    struct nlmsghdr header;
    int code = 0;

    for (;;) {
        ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

        if (n < 0)
            return errno;
        if ((size_t)n < sizeof(header) + sizeof(code))
            return EPROTO;
        memcpy(&header, bytes, sizeof(header));
        if (header.nlmsg_type != NLMSG_ERROR)
            continue;
        memcpy(&code, bytes + sizeof(header), sizeof(code));
        return -code;
    }
}

static int tell(int fd, const struct command *command)
{
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};

    if (sendto(fd, command, command->header.nlmsg_len, 0, (const struct sockaddr *)&kernel,
               sizeof(kernel)) < 0)
        return errno;
    return read_answer(fd);
}

static int bind_group(int fd, uint16_t group)
{
    const struct nfulnl_msg_config_cmd bind_command = {.command = NFULNL_CFG_CMD_BIND};
    struct command command = new_command(group);

    put_attribute(&command, NFULA_CFG_CMD, &bind_command, sizeof(bind_command));
    return tell(fd, &command);
}

static int shape_group(int fd, uint16_t group)
{
    const struct nfulnl_msg_config_mode mode = {.copy_range = htonl(NFLOG_SHOWN_BYTES),
                                                .copy_mode = NFULNL_COPY_PACKET};
    const uint32_t at_once = htonl(PACKETS_AT_ONCE);
    const uint32_t timeout = htonl(HANDOVER_CENTISECONDS);
    struct command command = new_command(group);

    put_attribute(&command, NFULA_CFG_MODE, &mode, sizeof(mode));
    put_attribute(&command, NFULA_CFG_QTHRESH, &at_once, sizeof(at_once));
    put_attribute(&command, NFULA_CFG_TIMEOUT, &timeout, sizeof(timeout));
    return tell(fd, &command);
}

/* EPERM: another process uses the group, or this one may use none. */
static int find_group(int fd, uint16_t first, uint16_t *group_out, struct error *err)
{
    int code = EPERM;

    for (int i = 0; i < GROUP_TRIES && (code == EPERM || code == EBUSY); i++) {
        *group_out = (uint16_t)(first + i);
        code = bind_group(fd, *group_out);
    }
    if (code == 0)
        code = shape_group(fd, *group_out);
    if (code == 0)
        return 0;
    errno = code;
    return error_set(err, ERROR_UNAVAILABLE,
                     "the kernel shows no refused packets (nfnetlink_log): %m");
}

int nflog_open(uint16_t first, int *fd_out, uint16_t *group_out, struct error *err)
{
    CLEANUP(fd_close) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
    const struct timeval patience = {.tv_sec = ANSWER_S};
    const struct sockaddr_nl ours = {.nl_family = AF_NETLINK};

    if (fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "the kernel has no netfilter netlink: %m");
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
        bind(fd, (const struct sockaddr *)&ours, sizeof(ours)) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "netfilter netlink: %m");
    if (find_group(fd, first, group_out, err) < 0)
        return -1;
    *fd_out = fd_take(&fd);
    return 0;
}

/* ENOBUFS: packets were lost; later ones are counted. Only the kernel's messages are accepted. */
size_t nflog_read(int fd, void *buffer, size_t size)
{
    struct sockaddr_nl sender = {.nl_family = AF_NETLINK};
    socklen_t len = sizeof(sender);
    ssize_t n = recvfrom(fd, buffer, size, MSG_DONTWAIT, (struct sockaddr *)&sender, &len);

    return n > 0 && sender.nl_pid == 0 ? (size_t)n : 0;
}
