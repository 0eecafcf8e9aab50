#include "worker/webhooks/sender.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/db/db.h"
#include "store/user/init_store.h"
#include "worker/context.h"
#include "worker/webhooks/delivery.h"
#include "worker/webhooks/receivers.h"

/* Concurrent calls: to all receivers, to one, and to one whose last call failed. */
enum { DELIVERIES_MAX = 8, EACH_MAX = 4, FAILING_MAX = 1 };
/* Pause after a failure of a receiver, for all conversations. */
enum { REST_MS = 1000 };
enum { LOOK_MS = 1000, LAST_CALLS_MS = 3000, STATEMENT_MS = 60000 };
/* Bodies in progress; a call starts only below this, so one more may exceed it. */
#define BYTES_MAX ((size_t)(16 * 1024 * 1024))

struct receiver {
    const struct webhook *webhook;
    bool is_known;   /* registered in the store */
    bool may_be_due; /* something may be claimable */
    bool is_failing;
    int64_t rest_until_ms;
    size_t n_under_way;
};

struct sender {
    const struct worker_context *context;
    struct delivery_means means;
    struct uuid owner;
    struct db *db;
    struct receivers brought; /* from a deferred start */
    struct secret session_key;
    bool awaits_init; /* a deferred start may bring more */
    struct receiver receivers[2 * RECEIVERS_MAX];
    size_t n_receivers;
    struct delivery deliveries[DELIVERIES_MAX];
    struct receiver *sent_to[DELIVERIES_MAX]; /* NULL: no delivery in this place */
    int64_t next_look_ms;
    pthread_t thread;
    atomic_bool is_stopping;
    int wake_fd;
};

void sender_free(struct sender *sender)
{
    if (sender == NULL)
        return;
    receivers_done(&sender->brought);
    secret_done(&sender->session_key);
    db_free(sender->db);
    fd_close(&sender->wake_fd);
    mem_free(sender);
}

static void add_receivers(struct sender *sender, const struct receivers *receivers)
{
    for (size_t i = 0; i < receivers->n; i++)
        sender->receivers[sender->n_receivers++].webhook = &receivers->items[i];
}

/* --- look --- */

/* After the deferred start its receivers do not change. */
static void look_for_init(struct sender *sender)
{
    CLEANUP(mem_freep) char *sealed = NULL;
    struct error err = ERROR_INIT;

    if (!sender->awaits_init)
        return;
    if (init_store_load(sender->db, &sealed, &err) < 0) {
        log_warning("webhook.load_failed", LOG_ERROR(&err));
        return;
    }
    if (sealed == NULL)
        return;
    sender->awaits_init = false;
    if (receivers_open(&sender->context->keyring, sealed, &sender->brought, &sender->session_key,
                       &err) < 0) {
        log_error("webhook.settings_unreadable", LOG_ERROR(&err));
        return;
    }
    add_receivers(sender, &sender->brought);
    if (!secret_is_set(sender->means.session_key))
        sender->means.session_key = &sender->session_key;
}

static void look_for(struct sender *sender, struct receiver *receiver)
{
    struct error err = ERROR_INIT;

    if (!receiver->is_known && webhook_store_ensure(sender->db, receiver->webhook, &err) < 0) {
        log_warning("webhook.register_failed", LOG_ERROR(&err));
        return;
    }
    receiver->is_known = true;
    receiver->may_be_due = true;
    if (webhook_store_look(sender->db, receiver->webhook, &err) < 0)
        log_warning("webhook.scan_failed", LOG_ERROR(&err));
}

/* Deliveries left after a failure of ours are not renewed, so that a worker takes them up. */
static void renew(struct sender *sender)
{
    struct uuid conversations[DELIVERIES_MAX];
    struct error err = ERROR_INIT;
    size_t n = 0;

    for (size_t i = 0; i < DELIVERIES_MAX; i++) {
        if (sender->sent_to[i] != NULL)
            conversations[n++] = sender->deliveries[i].claim.conversation_id;
    }
    if (n > 0 && webhook_store_renew(sender->db, &sender->owner, conversations, n, &err) < 0)
        log_warning("webhook.renew_failed", LOG_ERROR(&err));
}

static bool is_idle(const struct sender *sender)
{
    for (size_t i = 0; i < DELIVERIES_MAX; i++) {
        if (sender->sent_to[i] != NULL)
            return false;
    }
    return true;
}

static void check_due(struct sender *sender)
{
    if (clock_monotonic_ms() < sender->next_look_ms)
        return;
    sender->next_look_ms = clock_monotonic_ms() + LOOK_MS;
    renew(sender);
    look_for_init(sender);
    for (size_t i = 0; i < sender->n_receivers; i++)
        look_for(sender, &sender->receivers[i]);
}

/* --- send --- */

static void settle(struct sender *sender, size_t at, enum delivery_end end)
{
    struct receiver *receiver = sender->sent_to[at];

    if (end == DELIVERY_GOES_ON)
        return;
    receiver->is_failing = end == DELIVERY_FAILED;
    if (receiver->is_failing)
        receiver->rest_until_ms = clock_monotonic_ms() + REST_MS;
    receiver->n_under_way--;
    receiver->may_be_due = receiver->may_be_due || end == DELIVERY_DONE;
    delivery_done(&sender->deliveries[at]);
    sender->sent_to[at] = NULL;
}

/* A free place for a call, or DELIVERIES_MAX. */
static size_t find_place(const struct sender *sender)
{
    size_t place = DELIVERIES_MAX;
    size_t n_bytes = 0;

    for (size_t i = 0; i < DELIVERIES_MAX; i++) {
        if (sender->sent_to[i] == NULL)
            place = i;
        else
            n_bytes += sender->deliveries[i].n_bytes;
    }
    return n_bytes < BYTES_MAX ? place : DELIVERIES_MAX;
}

static bool may_send(const struct receiver *receiver)
{
    size_t most = receiver->is_failing ? FAILING_MAX : EACH_MAX;

    return receiver->may_be_due && receiver->n_under_way < most &&
           clock_monotonic_ms() >= receiver->rest_until_ms;
}

static void send_one(struct sender *sender, struct receiver *receiver, size_t place)
{
    CLEANUP(webhook_claim_done) struct webhook_claim claim = {.webhook = NULL};
    struct error err = ERROR_INIT;
    bool is_claimed = false;

    if (webhook_store_claim(sender->db, receiver->webhook, &sender->owner, &is_claimed, &claim,
                            &err) < 0)
        log_warning("webhook.claim_failed", LOG_ERROR(&err));
    receiver->may_be_due = is_claimed;
    if (!is_claimed)
        return;
    sender->sent_to[place] = receiver;
    receiver->n_under_way++;
    settle(sender, place, delivery_begin(&sender->deliveries[place], &sender->means, &claim));
}

static void send_due(struct sender *sender)
{
    for (size_t i = 0; i < sender->n_receivers; i++) {
        struct receiver *receiver = &sender->receivers[i];
        size_t place = find_place(sender);

        while (place < DELIVERIES_MAX && may_send(receiver)) {
            send_one(sender, receiver, place);
            place = find_place(sender);
        }
    }
}

static void go_on(struct sender *sender)
{
    for (size_t i = 0; i < DELIVERIES_MAX; i++) {
        if (sender->sent_to[i] != NULL)
            settle(sender, i, delivery_go_on(&sender->deliveries[i]));
    }
}

/* Until a call is over, a stop request, or until_ms. */
static void wait_for_news(const struct sender *sender, int64_t until_ms)
{
    struct pollfd wake = {.fd = sender->wake_fd, .events = POLLIN};
    int64_t wait_ms = until_ms - clock_monotonic_ms();
    uint64_t count = 0;

    if (poll(&wake, 1, wait_ms > 0 ? (int)wait_ms : 0) > 0) {
        ssize_t n = read(sender->wake_fd, &count, sizeof(count));

        (void)n; /* an empty counter: nothing lost */
    }
}

/* Lets calls in progress end; the rest is sent again by the next claimant. */
static void finish(struct sender *sender)
{
    struct error err = ERROR_INIT;
    int64_t until_ms = clock_monotonic_ms() + LAST_CALLS_MS;

    for (size_t i = 0; i < sender->n_receivers; i++)
        sender->receivers[i].may_be_due = false;
    while (!is_idle(sender) && clock_monotonic_ms() < until_ms) {
        wait_for_news(sender, until_ms);
        go_on(sender);
    }
    for (size_t i = 0; i < DELIVERIES_MAX; i++) {
        if (sender->sent_to[i] != NULL)
            delivery_done(&sender->deliveries[i]);
    }
    if (webhook_store_let_go(sender->db, &sender->owner, &err) < 0)
        log_warning("webhook.release_failed", LOG_ERROR(&err));
}

static void *sender_main(void *argument)
{
    struct sender *sender = argument;

    while (!atomic_load(&sender->is_stopping)) {
        check_due(sender);
        send_due(sender);
        wait_for_news(sender, sender->next_look_ms);
        go_on(sender);
    }
    finish(sender);
    return NULL;
}

/* --- start and stop --- */

static void set_means(struct sender *sender)
{
    const struct worker_context *context = sender->context;

    sender->means = (struct delivery_means){
        .db = sender->db,
        .http = context->http,
        .session_key = &context->settings.session_key,
        .address_of = context->settings.webhooks_allow_private != 0 ? ADDRESS_OF_ADMINISTRATOR
                                                                    : ADDRESS_OF_USER,
        .timeout_ms = context->settings.webhooks_timeout_ms,
        .done_fd = sender->wake_fd,
    };
    add_receivers(sender, &context->receivers);
}

static int set_up(struct sender *sender, struct error *err)
{
    const struct db_options options = {
        .url = secret_reveal(&sender->context->settings.database_url),
        .application = "deft-worker webhooks",
        .n_connections = 1,
        .statement_timeout_ms = STATEMENT_MS,
    };
    int rc = 0;

    sender->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (sender->wake_fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "eventfd: %m");
    if (db_open(&options, &sender->db, err) < 0)
        return -1;
    set_means(sender);
    rc = pthread_create(&sender->thread, NULL, sender_main, sender);
    if (rc != 0)
        return error_set(err, ERROR_UNAVAILABLE, "the webhook thread cannot be started: error %d",
                         rc);
    return 0;
}

int sender_start(const struct worker_context *context, struct sender **sender_out,
                 struct error *err)
{
    struct sender *sender = NULL;
    struct error unknown = ERROR_INIT;

    *sender_out = NULL;
    /* Drops receivers that no worker uses any more, even if this one has none. */
    if (webhook_store_forget(context->db, &unknown) < 0)
        log_warning("webhook.remove_failed", LOG_ERROR(&unknown));
    if (context->receivers.n == 0 && context->settings.deferred_init == 0)
        return 0;
    sender = NEW(struct sender);
    sender->context = context;
    sender->awaits_init = context->settings.deferred_init != 0;
    sender->owner = uuid_random();
    sender->wake_fd = -1;
    if (set_up(sender, err) < 0) {
        sender_free(sender);
        return -1;
    }
    *sender_out = sender;
    return 0;
}

void sender_stop(struct sender *sender)
{
    uint64_t one = 1;
    ssize_t n = 0;

    if (sender == NULL)
        return;
    atomic_store(&sender->is_stopping, true);
    n = write(sender->wake_fd, &one, sizeof(one));
    (void)n; /* a full counter also wakes */
    (void)pthread_join(sender->thread, NULL);
}
