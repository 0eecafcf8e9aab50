/*
 * Figure "steps", the baseline: the same round trips as a step of the worker, and nothing else: ask
 * the model over HTTP, insert the action, run `true` through deft-action, insert the result.
 *
 *   steps_bare MODEL_URL ACTION_URL SESSION_KEY DATABASE_URL N_CONVERSATIONS N_STEPS
 *   →  {"steps_per_s":…,"cpu_ms_per_step":…}
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <curl/curl.h>
#include <libpq-fe.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/uuid.h"

enum { MODEL_BODY_BYTES = 12000, EVENT_BODY_BYTES = 700 };

struct plan {
    const char *model_url;
    const char *action_url;
    const char *session_key;
    const char *database_url;
    int n_steps;
};

static const char SQL_INSERT[] =
    "INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body)"
    " VALUES ($1::uuid, $2::bigint, gen_random_uuid(), 'PauseEvent', 'agent', 'x', $3)";

/* NOLINTNEXTLINE(readability-non-const-parameter): the type is libcurl's */
static size_t drop(char *bytes, size_t size, size_t n, void *context)
{
    (void)bytes;
    (void)context;
    return size * n;
}

static struct curl_slist *headers(const struct plan *plan, const char *conversation_id)
{
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf conversation = STRBUF_INIT;
    struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");

    strbuf_appendf(&key, "X-Session-API-Key: %s", plan->session_key);
    strbuf_appendf(&conversation, "X-Deft-Conversation: %s", conversation_id);
    list = curl_slist_append(list, "X-Deft-Fence: 1");
    list = curl_slist_append(list, "Authorization: Bearer bench");
    list = curl_slist_append(list, key.text);
    return curl_slist_append(list, conversation.text);
}

static void call(CURL *curl, const char *method, const char *url, const char *body)
{
    long status = 0;

    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    if (curl_easy_perform(curl) != CURLE_OK ||
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status) != CURLE_OK || status != 200) {
        (void)fprintf(stderr, "steps_bare: %s %s: status %ld\n", method, url, status);
        exit(EXIT_FAILURE);
    }
}

/* As long as a real request: a system prompt, tools and a few messages. */
static char *model_body(void)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    strbuf_append(&body, "{\"model\":\"steps\",\"messages\":[{\"role\":\"user\",\"content\":\"");
    for (int i = 0; i < MODEL_BODY_BYTES; i++)
        strbuf_append_char(&body, 'x');
    strbuf_append(&body, "\"}]}");
    return strbuf_take(&body);
}

static char *event_body(void)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    for (int i = 0; i < EVENT_BODY_BYTES; i++)
        strbuf_append_char(&body, 'e');
    return strbuf_take(&body);
}

static void insert(PGconn *conn, const char *conversation_id, int seq, const char *body)
{
    char number[16];
    PGresult *rows = NULL;

    (void)snprintf(number, sizeof(number), "%d", seq);
    const char *values[] = {conversation_id, number, body};
    rows = PQexecPrepared(conn, "insert", 3, values, NULL, NULL, 0);
    if (PQresultStatus(rows) != PGRES_COMMAND_OK) {
        (void)fprintf(stderr, "steps_bare: %s\n", PQerrorMessage(conn));
        exit(EXIT_FAILURE);
    }
    PQclear(rows);
}

static void *run_conversation(void *context)
{
    static const char action[] =
        "{\"tool\":\"terminal\",\"args\":{\"command\":\"true\"},\"working_dir\":\"/workspace\"}";
    const struct plan *plan = context;
    CLEANUP(mem_freep) char *question = model_body();
    CLEANUP(mem_freep) char *event = event_body();
    struct uuid id = uuid_random();
    PGconn *conn = PQconnectdb(plan->database_url);
    CURL *curl = curl_easy_init();
    struct curl_slist *list = headers(plan, id.text);

    PQclear(PQprepare(conn, "insert", SQL_INSERT, 0, NULL));
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, drop);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    for (int step = 0; step < plan->n_steps; step++) {
        CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
        struct uuid action_id = uuid_random();

        call(curl, "POST", plan->model_url, question);
        insert(conn, id.text, 2 * step + 1, event);
        strbuf_appendf(&url, "%s/actions/%s", plan->action_url, action_id.text);
        call(curl, "PUT", url.text, action);
        insert(conn, id.text, 2 * step + 2, event);
    }
    curl_slist_free_all(list);
    curl_easy_cleanup(curl);
    PQfinish(conn);
    return NULL;
}

static double cpu_ms(void)
{
    struct rusage usage = {0};

    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

int main(int argc, char **argv)
{
    struct plan plan = {0};
    pthread_t *threads = NULL;
    long n = 0;
    int64_t began_us = 0;
    double n_steps = 0;

    if (argc != 7) {
        (void)fprintf(stderr, "usage: steps_bare MODEL_URL ACTION_URL SESSION_KEY DATABASE_URL"
                              " N_CONVERSATIONS N_STEPS\n");
        return EXIT_FAILURE;
    }
    plan = (struct plan){argv[1], argv[2], argv[3], argv[4], (int)strtol(argv[6], NULL, 10)};
    n = strtol(argv[5], NULL, 10);
    (void)curl_global_init(CURL_GLOBAL_ALL);
    threads = mem_alloc_array((size_t)n, sizeof(*threads));
    began_us = clock_monotonic_us();
    for (long i = 0; i < n; i++)
        (void)pthread_create(&threads[i], NULL, run_conversation, &plan);
    for (long i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
    n_steps = (double)n * plan.n_steps;
    (void)printf("{\"steps_per_s\":%.1f,\"cpu_ms_per_step\":%.3f}\n",
                 n_steps * 1e6 / (double)(clock_monotonic_us() - began_us), cpu_ms() / n_steps);
    mem_free(threads);
    return EXIT_SUCCESS;
}
