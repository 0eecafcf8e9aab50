#include "gateway/callers.h"

#include <libwebsockets.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/gateway.h"
#include "gateway/subscriber.h"
#include "store/db/db_pipe.h"

static void ask(struct callers *callers);

/* The id of the key, session or sandbox that its sockets depend on. "": none. */
static const char *id_of(const struct subscriber *subscriber)
{
    const struct principal *principal = &subscriber->principal;

    return principal->kind == PRINCIPAL_SANDBOX_KEY ? principal->runtime_id
                                                    : principal->key_id.text;
}

static void on_ended(struct ended_question *question, const char *id)
{
    const struct callers *callers = lws_container_of(question, struct callers, question);

    for (struct subscriber *at = callers->first; at != NULL; at = at->caller.next) {
        if (text_equal(id_of(at), id))
            subscriber_close(at, SUBSCRIBER_UNAUTHENTICATED);
    }
}

static void doubt(const struct callers *callers, const char *key_id)
{
    for (struct subscriber *at = callers->first; at != NULL; at = at->caller.next) {
        if (key_id == NULL || text_equal(id_of(at), key_id))
            at->caller.is_doubted = true;
    }
}

/* PostgreSQL is unavailable: the pipe delays the next query until it has reconnected. */
static void on_done(struct ended_question *question, const struct error *err)
{
    struct callers *callers = lws_container_of(question, struct callers, question);

    mem_free(TAKE_PTR(callers->asked));
    if (err != NULL) {
        log_warning("callers.unknown", LOG_INT("keys", (int64_t)question->n), LOG_ERROR(err));
        doubt(callers, NULL);
    }
    ask(callers);
}

/* Skips a repeated id: sockets with the same key usually connect one after the other. */
static void collect(struct callers *callers, size_t n_doubted)
{
    struct ended_question *question = &callers->question;

    callers->asked = mem_alloc_array(n_doubted, sizeof(*callers->asked));
    question->ids = callers->asked;
    question->n = 0;
    for (struct subscriber *at = callers->first; at != NULL; at = at->caller.next) {
        const char *id = id_of(at);

        if (!at->caller.is_doubted)
            continue;
        at->caller.is_doubted = false;
        if (question->n == 0 || !text_equal(callers->asked[question->n - 1], id))
            callers->asked[question->n++] = id;
    }
}

static void ask(struct callers *callers)
{
    size_t n_doubted = 0;

    if (callers->asked != NULL)
        return;
    for (const struct subscriber *at = callers->first; at != NULL; at = at->caller.next)
        n_doubted += at->caller.is_doubted;
    if (n_doubted == 0)
        return;
    collect(callers, n_doubted);
    live_ask_ended(callers->gateway->back, &callers->question);
}

void callers_init(struct callers *callers, struct gateway *gateway)
{
    *callers =
        (struct callers){.gateway = gateway, .question = {.ended = on_ended, .done = on_done}};
}

void callers_done(struct callers *callers)
{
    db_ticket_forget(&callers->question.ticket);
    mem_free(TAKE_PTR(callers->asked));
}

void callers_join(struct subscriber *subscriber, int64_t n_hints)
{
    struct callers *callers = &subscriber->gateway->callers;

    if (id_of(subscriber)[0] == '\0')
        return;
    subscriber->caller = (struct caller_link){
        .next = callers->first, .is_listed = true, .is_doubted = n_hints != callers->n_hints};
    if (callers->first != NULL)
        callers->first->caller.previous = subscriber;
    callers->first = subscriber;
    ask(callers);
}

void callers_leave(struct subscriber *subscriber)
{
    struct caller_link *link = &subscriber->caller;

    if (!link->is_listed)
        return;
    if (link->previous != NULL)
        link->previous->caller.next = link->next;
    else
        subscriber->gateway->callers.first = link->next;
    if (link->next != NULL)
        link->next->caller.previous = link->previous;
    link->is_listed = false;
}

void callers_doubt(struct callers *callers, const char *key_id)
{
    callers->n_hints++;
    doubt(callers, key_id);
    ask(callers);
}

void callers_doubt_all(struct callers *callers)
{
    callers->n_hints++;
    doubt(callers, NULL);
    ask(callers);
}
