/*
 * Figures "page" and "list", the baseline: a bare FastCGI handler that answers a page of 20 events,
 * or of 20 conversations, with one prepared statement, without router, authentication, log or
 * checks.
 *
 *   page_bare SOCKET DATABASE_URL events CONVERSATION_ID
 *   page_bare SOCKET DATABASE_URL conversations USER_ID
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <fcgiapp.h>
#include <libpq-fe.h>

enum { N_THREADS = 16, BACKLOG = 128 };

struct bare {
    const char *url;
    const char *sql;
    const char *id;
    int fd;
};

static const char SQL_EVENTS[] =
    "SELECT body, id FROM events WHERE conversation_id = $1::uuid ORDER BY seq LIMIT 21";
static const char SQL_CONVERSATIONS[] =
    "SELECT spec_info, id, stats, title, execution_status FROM conversations"
    " WHERE user_id = $1::uuid ORDER BY created_at DESC, id DESC LIMIT 21";

static void answer(FCGX_Request *request, PGconn *conn, const char *id)
{
    const char *values[] = {id};
    PGresult *rows = PQexecPrepared(conn, "page", 1, values, NULL, NULL, 0);

    (void)FCGX_FPrintF(request->out, "Status: 200\r\nContent-Type: application/json\r\n\r\n");
    (void)FCGX_FPrintF(request->out, "{\"items\":[");
    for (int row = 0; row < PQntuples(rows) && row < 20; row++)
        (void)FCGX_FPrintF(request->out, "%s%s", row > 0 ? "," : "", PQgetvalue(rows, row, 0));
    (void)FCGX_FPrintF(request->out, "],\"next_page_id\":\"%s\"}",
                       PQntuples(rows) > 20 ? PQgetvalue(rows, 20, 1) : "");
    PQclear(rows);
}

static void *serve(void *context)
{
    const struct bare *bare = context;
    PGconn *conn = PQconnectdb(bare->url);
    FCGX_Request request;

    PQclear(PQprepare(conn, "page", bare->sql, 0, NULL));
    (void)FCGX_InitRequest(&request, bare->fd, 0);
    while (FCGX_Accept_r(&request) == 0) {
        answer(&request, conn, bare->id);
        FCGX_Finish_r(&request);
    }
    PQfinish(conn);
    return NULL;
}

int main(int argc, char **argv)
{
    struct bare bare = {0};
    pthread_t threads[N_THREADS];

    if (argc != 5) {
        (void)fprintf(stderr, "usage: page_bare SOCKET DATABASE_URL events|conversations ID\n");
        return EXIT_FAILURE;
    }
    bare.url = argv[2];
    bare.sql = strcmp(argv[3], "events") == 0 ? SQL_EVENTS : SQL_CONVERSATIONS;
    bare.id = argv[4];
    (void)FCGX_Init();
    bare.fd = FCGX_OpenSocket(argv[1], BACKLOG);
    if (bare.fd < 0 || chmod(argv[1], 0666) < 0)
        return EXIT_FAILURE;
    for (int i = 0; i < N_THREADS; i++)
        (void)pthread_create(&threads[i], NULL, serve, &bare);
    for (int i = 0; i < N_THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    return EXIT_SUCCESS;
}
