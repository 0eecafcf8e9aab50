/*
 * Figures "sockets", the baseline: a bare libwebsockets server that sends each message of any
 * client to all of them, without authentication, database or envelope.
 *
 *   sockets_bare SOCKET
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <libwebsockets.h>

enum { MESSAGE_MAX_BYTES = 4096 };

struct peer {
    struct peer *next;
    struct peer *previous;
    struct lws *wsi;
    int n_sent;
};

struct bare {
    struct peer *peers;
    int n_messages;
    size_t len;
    unsigned char message[LWS_PRE + MESSAGE_MAX_BYTES];
};

static void join(struct bare *bare, struct peer *peer, struct lws *wsi)
{
    *peer = (struct peer){.next = bare->peers, .wsi = wsi, .n_sent = bare->n_messages};
    if (bare->peers != NULL)
        bare->peers->previous = peer;
    bare->peers = peer;
}

static void leave(struct bare *bare, struct peer *peer)
{
    if (peer->previous != NULL)
        peer->previous->next = peer->next;
    else
        bare->peers = peer->next;
    if (peer->next != NULL)
        peer->next->previous = peer->previous;
}

static void broadcast(struct bare *bare, const void *message, size_t len)
{
    bare->len = len < MESSAGE_MAX_BYTES ? len : MESSAGE_MAX_BYTES;
    memcpy(bare->message + LWS_PRE, message, bare->len);
    bare->n_messages++;
    for (struct peer *peer = bare->peers; peer != NULL; peer = peer->next)
        (void)lws_callback_on_writable(peer->wsi);
}

static int send_newest(struct bare *bare, struct peer *peer)
{
    if (peer->n_sent == bare->n_messages)
        return 0;
    peer->n_sent = bare->n_messages;
    return lws_write(peer->wsi, bare->message + LWS_PRE, bare->len, LWS_WRITE_TEXT) < 0 ? -1 : 0;
}

static int on_socket(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                     size_t len)
{
    struct bare *bare = lws_context_user(lws_get_context(wsi));

    if (reason == LWS_CALLBACK_ESTABLISHED)
        join(bare, user, wsi);
    if (reason == LWS_CALLBACK_CLOSED)
        leave(bare, user);
    if (reason == LWS_CALLBACK_RECEIVE)
        broadcast(bare, in, len);
    if (reason == LWS_CALLBACK_SERVER_WRITEABLE)
        return send_newest(bare, user);
    return 0;
}

static const struct lws_protocols protocols[] = {
    {.name = "bare",
     .callback = on_socket,
     .per_session_data_size = sizeof(struct peer),
     .rx_buffer_size = MESSAGE_MAX_BYTES},
    {.name = NULL},
};

int main(int argc, char **argv)
{
    struct bare bare = {0};
    struct rlimit files = {0};
    struct lws_context_creation_info info = {.port = 0,
                                             .protocols = protocols,
                                             .user = &bare,
                                             .options = LWS_SERVER_OPTION_UNIX_SOCK |
                                                        LWS_SERVER_OPTION_DISABLE_IPV6,
                                             .gid = -1,
                                             .uid = -1};
    struct lws_context *context = NULL;

    if (argc != 2)
        return EXIT_FAILURE;
    (void)getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    lws_set_log_level(0, NULL);
    info.iface = argv[1];
    (void)unlink(argv[1]);
    context = lws_create_context(&info);
    while (context != NULL && lws_service(context, 0) >= 0) {
    }
    return EXIT_FAILURE;
}
