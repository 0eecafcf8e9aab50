#include "runtime/egress/nflog.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <libmnl/libmnl.h>

#include "base/error.h"
#include "base/file.h"

#define GROUP_TRIES 16
#define ANSWER_S 5
/* The kernel reports after this many packets or after this time (in 1/100 s). */
#define PACKETS_AT_ONCE 64
#define HANDOVER_CENTISECONDS 10
#define COMMAND_BYTES 128
#define ANSWER_BYTES 8192

/* A request of nfnetlink_log about a group. */
static struct nlmsghdr *begin_config(void *buffer, uint16_t group)
{
    struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
    struct nfgenmsg *message = mnl_nlmsg_put_extra_header(header, sizeof(*message));

    header->nlmsg_type = (NFNL_SUBSYS_ULOG << 8) | NFULNL_MSG_CONFIG;
    header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    message->nfgen_family = AF_UNSPEC;
    message->version = NFNETLINK_V0;
    message->res_id = htons(group);
    return header;
}

/* The kernel's acknowledgement: 0, or an errno. Packets may precede it. */
static int read_acknowledgement(int fd)
{
    _Alignas(struct nlmsghdr) unsigned char bytes[ANSWER_BYTES];

    for (;;) {
        ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
        int state = n < 0 ? MNL_CB_ERROR : mnl_cb_run(bytes, (size_t)n, 0, 0, NULL, NULL);

        if (state != MNL_CB_OK)
            return state == MNL_CB_ERROR ? errno : 0;
    }
}

static int send_config(int fd, const struct nlmsghdr *header)
{
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};

    if (sendto(fd, header, header->nlmsg_len, 0, (const struct sockaddr *)&kernel, sizeof(kernel)) <
        0)
        return errno;
    return read_acknowledgement(fd);
}

static int bind_group(int fd, uint16_t group)
{
    const struct nfulnl_msg_config_cmd bind_command = {.command = NFULNL_CFG_CMD_BIND};
    _Alignas(struct nlmsghdr) unsigned char buffer[COMMAND_BYTES];
    struct nlmsghdr *header = begin_config(buffer, group);

    mnl_attr_put(header, NFULA_CFG_CMD, sizeof(bind_command), &bind_command);
    return send_config(fd, header);
}

static int configure_group(int fd, uint16_t group)
{
    const struct nfulnl_msg_config_mode mode = {.copy_range = htonl(NFLOG_SHOWN_BYTES),
                                                .copy_mode = NFULNL_COPY_PACKET};
    _Alignas(struct nlmsghdr) unsigned char buffer[COMMAND_BYTES];
    struct nlmsghdr *header = begin_config(buffer, group);

    mnl_attr_put(header, NFULA_CFG_MODE, sizeof(mode), &mode);
    mnl_attr_put_u32(header, NFULA_CFG_QTHRESH, htonl(PACKETS_AT_ONCE));
    mnl_attr_put_u32(header, NFULA_CFG_TIMEOUT, htonl(HANDOVER_CENTISECONDS));
    return send_config(fd, header);
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
        code = configure_group(fd, *group_out);
    if (code == 0)
        return 0;
    errno = code;
    return error_set(err, ERROR_UNAVAILABLE,
                     "the kernel cannot report refused packets (nfnetlink_log): %m");
}

int nflog_open(uint16_t first, int *fd_out, uint16_t *group_out, struct error *err)
{
    CLEANUP(fd_close) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
    const struct timeval patience = {.tv_sec = ANSWER_S};
    const struct sockaddr_nl ours = {.nl_family = AF_NETLINK};

    if (fd < 0)
        return error_set(err, ERROR_UNAVAILABLE,
                         "the kernel does not support netfilter netlink: %m");
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
