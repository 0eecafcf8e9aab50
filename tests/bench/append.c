/*
 * Figure "append": events per second through conversation_store_append(), 16 writers, each with its
 * own conversation and lease, against bare one-row inserts by libpq into a table with the same
 * columns, partitions and indexes. Rounds alternate, so that both meet the same noise.
 *
 *   append DATABASE_URL SECONDS_PER_ROUND  →  one JSON object: rates per second
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <jansson.h>
#include <libpq-fe.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "store/conversation/conversation_store.h"
#include "store/db/db.h"
#include "store/user/user_store.h"

enum { N_WRITERS = 16, N_ROUNDS = 3, EVENT_TEXT_BYTES = 800, RENEW_MS = 1000 };

struct bench {
    const char *url;
    struct db *db;
    int64_t round_ms;
    int timer_fd;
    atomic_bool is_over;
};

struct writer {
    struct bench *bench;
    struct claim claim;
    PGconn *conn;
    int64_t next_seq;
    int per_call;
    int64_t n_events;
};

static NORETURN void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "append: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static json_t *observation(void)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *object = json_object();
    json_t *content = json_array();

    for (int i = 0; i < EVENT_TEXT_BYTES; i++)
        strbuf_append_char(&text, (char)('a' + i % 26));
    json_push(content, text_content(text.text));
    json_put(object, "content", content);
    json_put(object, "is_error", json_false());
    json_put_text(object, "kind", "ThinkObservation");
    return object;
}

static void add_event(struct event_list *events)
{
    struct call_ref call = {
        .action_id = uuid_random(), .tool_name = "think", .tool_call_id = "call_1"};
    json_auto_t *seen = observation();

    event_add_observation(events, &call, seen);
}

static void *write_real(void *context)
{
    struct writer *writer = context;
    struct error err = ERROR_INIT;

    while (!atomic_load(&writer->bench->is_over)) {
        CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;

        for (int i = 0; i < writer->per_call; i++)
            add_event(&events);
        if (conversation_store_append(writer->bench->db, &writer->claim.lease,
                                      &writer->claim.conversation, &events, &err) < 0)
            die("append", err.message);
        writer->n_events += writer->per_call;
    }
    return NULL;
}

static const char SQL_BARE[] =
    "INSERT INTO bench_events (conversation_id, seq, id, kind, source, timestamp, result_of, fence,"
    " body) VALUES ($1::uuid, $2::bigint, $3::uuid, $4, $5, $6, $7::uuid, $8::bigint, $9)";

/* The bare program makes the same event, so that only the way into the database differs. */
static void insert_bare(struct writer *writer)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    char seq[24];
    char stamp[CLOCK_TEXT_BYTES];
    PGresult *rows = NULL;

    add_event(&events);
    events.items[0].id = uuid_random();
    events.items[0].timestamp_us = clock_utc_us();
    event_append_body(&events.items[0], &body);
    clock_format_naive(events.items[0].timestamp_us, stamp);
    (void)snprintf(seq, sizeof(seq), "%lld", (long long)++writer->next_seq);
    const char *values[] = {writer->claim.conversation.id.text,
                            seq,
                            events.items[0].id.text,
                            events.items[0].kind,
                            events.items[0].source,
                            stamp,
                            events.items[0].result_of.text,
                            "1",
                            body.text};
    rows = PQexecPrepared(writer->conn, "bare", 9, values, NULL, NULL, 0);
    if (PQresultStatus(rows) != PGRES_COMMAND_OK)
        die("insert", PQerrorMessage(writer->conn));
    PQclear(rows);
}

static void *write_bare(void *context)
{
    struct writer *writer = context;

    while (!atomic_load(&writer->bench->is_over)) {
        insert_bare(writer);
        writer->n_events++;
    }
    return NULL;
}

/* A round is a span of time: there is nothing else to wait for. */
static void wait_until_ms(int timer_fd, int64_t deadline_ms)
{
    struct itimerspec deadline = {
        .it_value = {.tv_sec = deadline_ms / 1000, .tv_nsec = deadline_ms % 1000 * 1000000}};
    uint64_t n_times = 0;

    if (timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &deadline, NULL) < 0 ||
        read(timer_fd, &n_times, sizeof(n_times)) < 0)
        die("timer", "does not work");
}

/* Keeps every lease alive: rounds are longer than one. */
static void renew_all(struct writer writers[N_WRITERS])
{
    struct error err = ERROR_INIT;

    for (int i = 0; i < N_WRITERS; i++) {
        struct held_lease held = {.conversation_id = writers[i].claim.conversation.id,
                                  .fence = writers[i].claim.lease.fence};

        if (conversation_store_renew(writers[i].bench->db, &writers[i].claim.lease.owner, &held, 1,
                                     &err) < 0 ||
            !held.is_held)
            die("lease", err.message);
    }
}

static void last_for_a_round(const struct bench *bench, struct writer writers[N_WRITERS])
{
    int64_t began_ms = clock_monotonic_ms();

    for (int64_t done_ms = 0; done_ms < bench->round_ms;) {
        done_ms += RENEW_MS;
        if (done_ms > bench->round_ms)
            done_ms = bench->round_ms;
        wait_until_ms(bench->timer_fd, began_ms + done_ms);
        renew_all(writers);
    }
}

/* Events per second of one round. */
static double run_round(struct writer writers[N_WRITERS], void *(*work)(void *), int per_call)
{
    struct bench *bench = writers[0].bench;
    pthread_t threads[N_WRITERS];
    int64_t n_events = 0;
    int64_t began_us = 0;

    renew_all(writers);
    atomic_store(&bench->is_over, false);
    began_us = clock_monotonic_us();
    for (int i = 0; i < N_WRITERS; i++) {
        writers[i].per_call = per_call;
        writers[i].n_events = 0;
        if (pthread_create(&threads[i], NULL, work, &writers[i]) != 0)
            die("thread", "cannot start");
    }
    last_for_a_round(bench, writers);
    atomic_store(&bench->is_over, true);
    for (int i = 0; i < N_WRITERS; i++) {
        (void)pthread_join(threads[i], NULL);
        n_events += writers[i].n_events;
    }
    return (double)n_events * 1e6 / (double)(clock_monotonic_us() - began_us);
}

static void run_sql(PGconn *conn, const char *sql)
{
    PGresult *rows = PQexec(conn, sql);

    if (PQresultStatus(rows) != PGRES_COMMAND_OK && PQresultStatus(rows) != PGRES_TUPLES_OK)
        die(sql, PQerrorMessage(conn));
    PQclear(rows);
}

static void make_bare_table(const char *url)
{
    PGconn *conn = PQconnectdb(url);

    run_sql(conn, "DROP TABLE IF EXISTS bench_events");
    run_sql(conn, "CREATE TABLE bench_events (LIKE events INCLUDING ALL)"
                  " PARTITION BY HASH (conversation_id)");
    run_sql(conn, "DO $$ BEGIN FOR i IN 0..7 LOOP EXECUTE format('CREATE TABLE bench_events_%s"
                  " PARTITION OF bench_events FOR VALUES WITH (MODULUS 8, REMAINDER %s)', i, i);"
                  " END LOOP; END $$");
    PQfinish(conn);
}

static void make_conversation(struct bench *bench, const struct uuid *user_id,
                              struct writer *writer)
{
    CLEANUP(conversation_done) struct conversation made = CONVERSATION_INIT;
    struct event_list none = EVENT_LIST_INIT;
    struct conversation_write write = {.want_run = true, .status = "running"};
    struct uuid owner = uuid_random();
    struct error err = ERROR_INIT;
    bool flag = false;

    made.id = uuid_random();
    made.user_id = *user_id;
    made.runtime_session = mem_dup_text("bench");
    made.spec = json_object();
    if (conversation_store_create(bench->db, &made, &none, &write, &flag, &err) < 0 ||
        conversation_store_claim(bench->db, &owner, INT64_MAX, &flag, &writer->claim, &err) < 0 ||
        !flag)
        die("conversation", err.message);
    writer->bench = bench;
    writer->conn = PQconnectdb(bench->url);
    PQclear(PQprepare(writer->conn, "bare", SQL_BARE, 0, NULL));
}

static double median(const double values[N_ROUNDS])
{
    double low = values[0];
    double high = values[0];
    double sum = 0;

    for (int i = 0; i < N_ROUNDS; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
        sum += values[i];
    }
    return sum - low - high; /* of three */
}

static void measure(struct writer writers[N_WRITERS])
{
    double bare[N_ROUNDS];
    double one[N_ROUNDS];
    double four[N_ROUNDS];
    struct error err = ERROR_INIT;
    json_auto_t *result = NULL;

    for (int round = 0; round < N_ROUNDS; round++) {
        bare[round] = run_round(writers, write_bare, 1);
        one[round] = run_round(writers, write_real, 1);
        four[round] = run_round(writers, write_real, 4);
    }
    result = json_build(&err, "{s:f, s:f, s:f}", "bare", median(bare), "one", median(one), "four",
                        median(four));
    if (result == NULL)
        die("result", err.message);
    (void)json_dumpf(result, stdout, JSON_COMPACT);
    (void)putchar('\n');
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    struct writer writers[N_WRITERS] = {0};
    CLEANUP(user_done) struct user user = USER_INIT;
    struct error err = ERROR_INIT;

    if (argc != 3)
        die("usage", "append DATABASE_URL SECONDS_PER_ROUND");
    json_setup();
    bench.url = argv[1];
    bench.timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    bench.round_ms = (int64_t)(strtod(argv[2], NULL) * 1000);
    struct db_options options = {
        .url = bench.url, .application = "bench", .n_connections = N_WRITERS + 2};
    if (db_open(&options, &bench.db, &err) < 0 ||
        user_store_ensure(bench.db, "bench@test.invalid", &user, &err) < 0)
        die("database", err.message);
    make_bare_table(bench.url);
    for (int i = 0; i < N_WRITERS; i++)
        make_conversation(&bench, &user.id, &writers[i]);
    measure(writers);
    for (int i = 0; i < N_WRITERS; i++) {
        PQfinish(writers[i].conn);
        claim_done(&writers[i].claim);
    }
    db_free(bench.db);
    fd_close(&bench.timer_fd);
    return EXIT_SUCCESS;
}
