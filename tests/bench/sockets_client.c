/*
 * Figures "sockets": many WebSocket clients in one process. SOCKETS_CREDENTIAL is what nginx would
 * pass as X-Deft-Credential.
 *
 *   sockets_client idle SOCKET < paths            opens one socket per line, prints how many are
 *                                                 open, and holds them until it is ended
 *   sockets_client relay SOCKET PATH N ROUNDS     opens N sockets, and sends a message on the
 * first: one line per round, ms until the last has a frame sockets_client store SOCKET PATH N
 * ROUNDS URL CONVERSATION the same; each round stores an event instead
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <libpq-fe.h>

enum {
    SOCKETS_MAX = 16000,
    READ_BYTES = 65536,
    QUIET_MS = 1500,
    PAUSE_MS = 20,
    EVENTS_MAX = 256,
    PATH_BYTES = 512
};

enum { OPCODE_TEXT = 1, OPCODE_PING = 9, BATCH = 64 };

/* Empty and masked, by 0. */
static const unsigned char pong[] = {0x8a, 0x80, 0, 0, 0, 0};

struct client {
    int fd;
    uint64_t skip;            /* bytes of a frame that are still to come */
    unsigned char header[10]; /* of the next frame */
    size_t n_header;
    int64_t n_frames;
};

struct house {
    const char *socket_path;
    struct client *clients;
    int n;
    int epoll_fd;
};

static int64_t now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

/* Reads the answer's head; the bytes after it stay in the socket. */
static void read_head(int fd)
{
    char head[2048];

    for (;;) {
        ssize_t n = recv(fd, head, sizeof(head) - 1, MSG_PEEK);
        char *end = NULL;

        if (n <= 0)
            fail("handshake");
        head[n] = '\0';
        end = strstr(head, "\r\n\r\n");
        if (end == NULL)
            continue;
        if (strncmp(head, "HTTP/1.1 101", 12) != 0)
            fail(head);
        if (recv(fd, head, (size_t)(end + 4 - head), 0) < 0)
            fail("recv");
        return;
    }
}

static void open_socket(struct house *house, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct client *client = &house->clients[house->n];
    const char *credential = getenv("SOCKETS_CREDENTIAL");
    char request[1024];
    int len = snprintf(request, sizeof(request),
                       "GET %s HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                       "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                       "Sec-WebSocket-Version: 13\r\nX-Deft-Credential: %s\r\n\r\n",
                       path, credential != NULL ? credential : "");

    if (house->n == SOCKETS_MAX)
        fail("too many sockets");
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", house->socket_path);
    *client = (struct client){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (client->fd < 0 ||
        connect(client->fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        fail("connect");
    if (send(client->fd, request, (size_t)len, MSG_NOSIGNAL) != len)
        fail("send");
    house->n++;
}

/* Finishes what open_socket() began since n_before: in batches, so that servers wake up less often.
 */
static void finish_opening(struct house *house, int n_before)
{
    for (int i = n_before; i < house->n; i++) {
        struct client *client = &house->clients[i];
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};

        read_head(client->fd);
        (void)fcntl(client->fd, F_SETFL, O_NONBLOCK);
        if (epoll_ctl(house->epoll_fd, EPOLL_CTL_ADD, client->fd, &event) < 0)
            fail("epoll_ctl");
    }
}

/* RFC 6455, section 5.2; servers do not mask. 0 while the header is not whole. */
static size_t header_length(const struct client *client)
{
    unsigned small = client->n_header < 2 ? 0 : client->header[1] & 127U;

    if (client->n_header < 2)
        return 2;
    if (small < 126)
        return 2;
    return small == 126 ? 4 : 10;
}

static void end_header(struct client *client)
{
    size_t len = header_length(client);

    client->skip = len == 2 ? client->header[1] & 127U : 0;
    for (size_t i = 2; i < len; i++)
        client->skip = client->skip << 8 | client->header[i];
    client->n_header = 0;
    if ((client->header[0] & 15U) == OPCODE_TEXT)
        client->n_frames++;
    if ((client->header[0] & 15U) == OPCODE_PING)
        (void)!send(client->fd, pong, sizeof(pong), MSG_NOSIGNAL);
}

static void take_bytes(struct client *client, const unsigned char *bytes, size_t len)
{
    while (len > 0) {
        if (client->skip > 0) {
            size_t n = client->skip < len ? (size_t)client->skip : len;

            client->skip -= n;
            bytes += n;
            len -= n;
            continue;
        }
        client->header[client->n_header++] = *bytes++;
        len--;
        if (client->n_header == header_length(client))
            end_header(client);
    }
}

/* How many frames came; -1 when nothing came in time. */
static int64_t receive(struct house *house, int wait_ms)
{
    unsigned char bytes[READ_BYTES];
    struct epoll_event events[EVENTS_MAX];
    int n = epoll_wait(house->epoll_fd, events, EVENTS_MAX, wait_ms);
    int64_t n_frames = 0;

    if (n == 0)
        return -1;
    for (int i = 0; i < n; i++) {
        struct client *client = events[i].data.ptr;
        int64_t before = client->n_frames;
        ssize_t len = recv(client->fd, bytes, sizeof(bytes), 0);

        if (len == 0 || (len < 0 && errno != EAGAIN))
            fail("a socket was closed");
        if (len > 0)
            take_bytes(client, bytes, (size_t)len);
        n_frames += client->n_frames - before;
    }
    return n_frames;
}

static void drain(struct house *house)
{
    while (receive(house, QUIET_MS) >= 0) {
    }
}

/* A masked text frame: the mask is 0. */
static void say(const struct client *client, const char *text)
{
    unsigned char frame[512] = {0x81, 0xfe};
    size_t len = strlen(text);

    frame[2] = (unsigned char)(len >> 8);
    frame[3] = (unsigned char)len;
    memcpy(frame + 8, text, len);
    if (send(client->fd, frame, 8 + len, MSG_NOSIGNAL) < 0)
        fail("send");
}

static void run_sql(PGconn *conn, const char *sql)
{
    PGresult *rows = PQexec(conn, sql);

    if (PQresultStatus(rows) != PGRES_TUPLES_OK && PQresultStatus(rows) != PGRES_COMMAND_OK) {
        (void)fprintf(stderr, "%s", PQerrorMessage(conn));
        exit(EXIT_FAILURE);
    }
    PQclear(rows);
}

/* One event of 400 bytes, committed before the clock starts, then its hint, as a worker does it. */
static int64_t store_event(PGconn *conn, const char *id)
{
    char sql[1024];
    int64_t began_us = 0;

    (void)snprintf(
        sql, sizeof(sql),
        "INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body)"
        " SELECT '%s', coalesce(max(seq), 0) + 1, gen_random_uuid(), 'PauseEvent', 'user',"
        " '2026-01-15T10:30:00.000000', json_build_object('filler', repeat('x', 380))::text"
        " FROM events WHERE conversation_id = '%s'",
        id, id);
    run_sql(conn, sql);
    began_us = now_us();
    (void)snprintf(sql, sizeof(sql), "SELECT pg_notify('deft_events', '%s')", id);
    run_sql(conn, sql);
    return began_us;
}

static void run_rounds(struct house *house, int rounds, PGconn *conn, const char *id)
{
    char filler[400];

    memset(filler, 'x', sizeof(filler) - 1);
    filler[sizeof(filler) - 1] = '\0';
    for (int round = 0; round < rounds; round++) {
        int64_t began_us = now_us();
        int64_t n_frames = 0;

        if (conn != NULL)
            began_us = store_event(conn, id);
        else
            say(&house->clients[0], filler);
        while (n_frames < house->n) {
            int64_t n = receive(house, 10000);

            if (n < 0)
                fail("a frame did not come");
            n_frames += n;
        }
        printf("%.3f\n", (double)(now_us() - began_us) / 1000);
        while (receive(house, PAUSE_MS) >= 0) {
        }
    }
}

static void run_idle(struct house *house)
{
    char path[PATH_BYTES];
    int n_open = 0;

    while (fgets(path, sizeof(path), stdin) != NULL) {
        path[strcspn(path, "\n")] = '\0';
        open_socket(house, path);
        if (house->n - n_open < BATCH)
            continue;
        finish_opening(house, n_open);
        n_open = house->n;
        while (receive(house, 0) >= 0) {
        }
    }
    finish_opening(house, n_open);
    drain(house);
    printf("%d\n", house->n);
    (void)fflush(stdout);
    for (;;)
        (void)receive(house, 60000);
}

static PGconn *connect_database(const char *url)
{
    PGconn *conn = PQconnectdb(url);

    if (PQstatus(conn) != CONNECTION_OK)
        fail("database");
    return conn;
}

int main(int argc, char **argv)
{
    struct rlimit files = {0};
    struct house house = {.epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
    PGconn *conn = NULL;

    (void)getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    house.clients = calloc(SOCKETS_MAX, sizeof(*house.clients));
    house.socket_path = argc > 2 ? argv[2] : "";
    if (house.clients == NULL || argc < 3)
        return EXIT_FAILURE;
    if (strcmp(argv[1], "idle") == 0)
        run_idle(&house);
    if (argc < 6)
        return EXIT_FAILURE;
    for (int i = 0; i < (int)strtol(argv[4], NULL, 10); i++)
        open_socket(&house, argv[3]);
    finish_opening(&house, 0);
    drain(&house);
    if (argc == 8)
        conn = connect_database(argv[6]);
    run_rounds(&house, (int)strtol(argv[5], NULL, 10), conn, argc == 8 ? argv[7] : NULL);
    PQfinish(conn);
    return EXIT_SUCCESS;
}
