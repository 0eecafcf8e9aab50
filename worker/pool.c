#include "worker/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/limits.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/job_store.h"
#include "worker/agent/agent_run.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/run_control.h"
#include "worker/context.h"
#include "worker/jobs/job.h"

enum slot_state {
    SLOT_FREE,
    SLOT_LOOKING, /* its thread looks for work to claim */
    SLOT_RUNNING, /* runs a conversation */
    SLOT_WORKING, /* runs a job */
    SLOT_ENDED,   /* its thread can be joined */
};

struct slot {
    struct pool *pool;
    pthread_t thread;
    enum slot_state state;
    struct uuid conversation_id; /* of SLOT_RUNNING */
    int64_t fence;
    struct run_control control; /* initialized while SLOT_RUNNING or SLOT_WORKING */
};

struct pool {
    struct worker_context *context;
    struct lock
        lock; /* guards the fields below; order: pool, then a control; never held over I/O */
    struct slot *slots;
    size_t n_slots;
    bool is_looking;  /* one thread at a time looks for work */
    bool looks_again; /* a hint arrived during that */
    bool is_draining;
    int wake_fd; /* set once */
};

int pool_new(struct worker_context *context, struct pool **pool_out, struct error *err)
{
    struct pool *pool = NULL;
    int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (wake_fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "eventfd: %m");
    pool = NEW(struct pool);
    pool->context = context;
    pool->wake_fd = wake_fd;
    pool->n_slots = (size_t)context->settings.n_conversations;
    pool->slots = mem_alloc_array(pool->n_slots, sizeof(*pool->slots));
    lock_init(&pool->lock);
    for (size_t i = 0; i < pool->n_slots; i++)
        pool->slots[i].pool = pool;
    *pool_out = pool;
    return 0;
}

void pool_free(struct pool *pool)
{
    if (pool == NULL)
        return;
    fd_close(&pool->wake_fd);
    lock_done(&pool->lock);
    mem_free(pool->slots);
    mem_free(pool);
}

int pool_fd(const struct pool *pool)
{
    return pool->wake_fd;
}

static void wake_main(const struct pool *pool)
{
    uint64_t one = 1;
    ssize_t n = write(pool->wake_fd, &one, sizeof(one));

    /* A full counter also wakes. */
    (void)n;
}

static bool slot_is_busy(const struct slot *slot)
{
    return slot->state == SLOT_RUNNING || slot->state == SLOT_WORKING;
}

/* Marks the slot as busy: heartbeats and stop requests now include it. */
static void slot_begin(struct slot *slot, enum slot_state state, const struct lease *lease,
                       int64_t lease_until_ms)
{
    struct pool *pool = slot->pool;

    lock_take(&pool->lock);
    run_control_init(&slot->control, lease_until_ms);
    slot->conversation_id = lease->conversation_id;
    slot->fence = lease->fence;
    slot->state = state;
    pool->is_looking = false;
    pool->looks_again = true; /* there may be more work */
    if (pool->is_draining)
        run_control_request(&slot->control, STOP_HAND_OVER);
    lock_release(&pool->lock);
    wake_main(pool);
}

static void slot_end(struct slot *slot)
{
    struct pool *pool = slot->pool;

    lock_take(&pool->lock);
    if (slot_is_busy(slot))
        run_control_done(&slot->control);
    else
        pool->is_looking = false;
    /* A run's end frees a slot in its user's run limit. */
    pool->looks_again = pool->looks_again || slot->state == SLOT_RUNNING;
    slot->state = SLOT_ENDED;
    lock_release(&pool->lock);
    wake_main(pool);
}

static void slot_run(struct slot *slot, struct claim *claim)
{
    struct agent agent = {.context = NULL};

    log_context_set("conversation_id", claim->lease.conversation_id.text);
    log_info("run.claimed", LOG_INT("fence", claim->lease.fence),
             LOG_INT("claims", claim->claim_count));
    crash_point(&slot->pool->context->crash, CRASH_CLAIM_COMMITTED);
    run_control_request_word(&slot->control, claim->stop_requested);
    agent_init(&agent, slot->pool->context, &slot->control, claim);
    agent_run(&agent);
    log_info("run.ended");
    agent_done(&agent);
    log_context_set("conversation_id", NULL);
}

/* After a stall, a run of ours whose lease is over would look like one that waits. */
static bool must_renew_locked(struct pool *pool) REQUIRES(pool -> lock);

static bool must_renew_locked(struct pool *pool)
{
    for (size_t i = 0; i < pool->n_slots; i++) {
        struct slot *slot = &pool->slots[i];

        if (slot->state == SLOT_RUNNING && !run_control_has_lease(&slot->control) &&
            run_control_stop(&slot->control) != STOP_LOST)
            return true;
    }
    return false;
}

static bool must_renew(struct pool *pool)
{
    bool must = false;

    lock_take(&pool->lock);
    must = must_renew_locked(pool);
    lock_release(&pool->lock);
    return must;
}

/* True once after each hint: whether to query the database (again). */
static bool take_look(struct pool *pool)
{
    bool looks = false;

    lock_take(&pool->lock);
    looks = pool->looks_again && !pool->is_draining && !must_renew_locked(pool);
    if (looks)
        pool->looks_again = false;
    lock_release(&pool->lock);
    return looks;
}

/* Runs the conversation that has waited longest; *done_out = false if none is waiting. */
static int slot_try_conversation(struct slot *slot, bool *done_out, struct error *err)
{
    CLEANUP(claim_done) struct claim claim = {.claim_count = 0};
    struct worker_context *context = slot->pool->context;
    int64_t asked_ms = clock_monotonic_ms();

    if (conversation_store_claim(context->db, &context->owner, context->settings.run_limits.n_slots,
                                 done_out, &claim, err) < 0)
        return -1;
    if (!*done_out)
        return 0;
    slot_begin(slot, SLOT_RUNNING, &claim.lease, asked_ms + LEASE_MS);
    slot_run(slot, &claim);
    return 0;
}

static int slot_try_job(struct slot *slot, bool *done_out, struct error *err)
{
    CLEANUP(job_done) struct job job = {.id = 0};
    struct worker_context *context = slot->pool->context;
    struct lease lease = {.fence = 0};

    if (job_store_claim(context->db, &context->owner, done_out, &job, err) < 0)
        return -1;
    if (!*done_out)
        return 0;
    lease.conversation_id = job.conversation_id;
    slot_begin(slot, SLOT_WORKING, &lease, INT64_MAX);
    job_run(context, &slot->control, &job);
    return 0;
}

/* Conversations first, because users watch them. */
static void *slot_main(void *argument)
{
    struct slot *slot = argument;
    struct error err = ERROR_INIT;
    bool is_done = false;

    while (!is_done && take_look(slot->pool)) {
        if (slot_try_conversation(slot, &is_done, &err) < 0 ||
            (!is_done && slot_try_job(slot, &is_done, &err) < 0)) {
            log_warning("run.claim_failed", LOG_ERROR(&err));
            break;
        }
    }
    slot_end(slot);
    return NULL;
}

static int start_thread(struct slot *slot)
{
    pthread_attr_t attr;
    int rc = pthread_attr_init(&attr);

    if (rc != 0)
        return rc;
    rc = pthread_attr_setstacksize(&attr, (size_t)slot->pool->context->settings.stack_bytes);
    if (rc == 0)
        rc = pthread_create(&slot->thread, &attr, slot_main, slot);
    (void)pthread_attr_destroy(&attr);
    return rc;
}

/* A free slot for a thread that looks for work; NULL if none is needed or available. */
static struct slot *take_free_slot(struct pool *pool)
{
    struct slot *slot = NULL;

    lock_take(&pool->lock);
    pool->looks_again = true;
    for (size_t i = 0; i < pool->n_slots && slot == NULL; i++) {
        if (pool->slots[i].state == SLOT_FREE)
            slot = &pool->slots[i];
    }
    if (pool->is_looking || pool->is_draining)
        slot = NULL;
    if (slot != NULL) {
        slot->state = SLOT_LOOKING;
        pool->is_looking = true;
    }
    lock_release(&pool->lock);
    return slot;
}

static void free_slot(struct slot *slot)
{
    lock_take(&slot->pool->lock);
    if (slot->state == SLOT_LOOKING)
        slot->pool->is_looking = false;
    slot->state = SLOT_FREE;
    lock_release(&slot->pool->lock);
}

void pool_claim_work(struct pool *pool)
{
    struct slot *slot = NULL;
    int rc = 0;

    if (must_renew(pool))
        pool_renew_leases(pool);
    /* The database does not answer: the next heartbeat looks. */
    if (must_renew(pool))
        return;
    slot = take_free_slot(pool);
    if (slot == NULL)
        return;
    rc = start_thread(slot);
    if (rc == 0)
        return;
    errno = rc;
    log_error("thread.start_failed", LOG_INT("errno", rc));
    free_slot(slot);
}

/* The next slot whose thread has ended, or NULL. */
static struct slot *find_ended(struct pool *pool)
{
    struct slot *slot = NULL;

    lock_take(&pool->lock);
    for (size_t i = 0; i < pool->n_slots && slot == NULL; i++) {
        if (pool->slots[i].state == SLOT_ENDED)
            slot = &pool->slots[i];
    }
    lock_release(&pool->lock);
    return slot;
}

static bool wants_look(struct pool *pool)
{
    bool wants = false;

    lock_take(&pool->lock);
    wants = pool->looks_again && !pool->is_looking && !pool->is_draining;
    lock_release(&pool->lock);
    return wants;
}

void pool_join_ended(struct pool *pool)
{
    uint64_t count = 0;
    ssize_t n = read(pool->wake_fd, &count, sizeof(count));

    (void)n; /* an empty counter: called without a wake-up */
    for (struct slot *slot = find_ended(pool); slot != NULL; slot = find_ended(pool)) {
        (void)pthread_join(slot->thread, NULL);
        free_slot(slot);
    }
    if (wants_look(pool))
        pool_claim_work(pool);
}

/* Lists the leases held now. */
static size_t list_held(struct pool *pool, struct held_lease *held)
{
    size_t n = 0;

    lock_take(&pool->lock);
    for (size_t i = 0; i < pool->n_slots; i++) {
        if (pool->slots[i].state != SLOT_RUNNING)
            continue;
        held[n].conversation_id = pool->slots[i].conversation_id;
        held[n++].fence = pool->slots[i].fence;
    }
    lock_release(&pool->lock);
    return n;
}

static void apply_held(struct run_control *control, const struct held_lease *held, int64_t until_ms)
{
    if (!held->is_held) {
        run_control_request(control, STOP_LOST);
        return;
    }
    run_control_renew(control, until_ms);
    run_control_request_word(control, held->stop_requested);
}

/*
 * Applies the database's answer about a lease to its slot, if that still runs the same
 * conversation.
 */
static void apply_to_slot(struct pool *pool, const struct held_lease *held, int64_t until_ms)
{
    lock_take(&pool->lock);
    for (size_t i = 0; i < pool->n_slots; i++) {
        struct slot *slot = &pool->slots[i];

        if (slot->state == SLOT_RUNNING && slot->fence == held->fence &&
            text_equal(slot->conversation_id.text, held->conversation_id.text))
            apply_held(&slot->control, held, until_ms);
    }
    lock_release(&pool->lock);
}

static bool has_jobs(struct pool *pool)
{
    bool has_any = false;

    lock_take(&pool->lock);
    for (size_t i = 0; i < pool->n_slots && !has_any; i++)
        has_any = pool->slots[i].state == SLOT_WORKING;
    lock_release(&pool->lock);
    return has_any;
}

static void renew_jobs(struct pool *pool)
{
    struct worker_context *context = pool->context;
    struct error err = ERROR_INIT;

    if (has_jobs(pool) && job_store_renew(context->lease_db, &context->owner, &err) < 0)
        log_warning("job.renew_failed", LOG_ERROR(&err));
}

/* For runs and jobs, also while the database does not answer: a grace period ends all the same. */
static void tick_all(struct pool *pool)
{
    lock_take(&pool->lock);
    for (size_t i = 0; i < pool->n_slots; i++) {
        if (slot_is_busy(&pool->slots[i]))
            run_control_tick(&pool->slots[i].control);
    }
    lock_release(&pool->lock);
}

void pool_renew_leases(struct pool *pool)
{
    struct worker_context *context = pool->context;
    struct held_lease *held = mem_alloc_array(pool->n_slots, sizeof(*held));
    int64_t until_ms = clock_monotonic_ms() + LEASE_MS;
    size_t n = list_held(pool, held);
    struct error err = ERROR_INIT;

    if (n > 0 && conversation_store_renew(context->lease_db, &context->owner, held, n, &err) < 0) {
        log_warning("lease.renew_failed", LOG_INT("n", (int64_t)n), LOG_ERROR(&err));
        n = 0;
    }
    for (size_t i = 0; i < n; i++)
        apply_to_slot(pool, &held[i], until_ms);
    mem_free(held);
    renew_jobs(pool);
    tick_all(pool);
}

bool pool_holds(struct pool *pool, const char *conversation_id)
{
    bool holds = false;

    lock_take(&pool->lock);
    for (size_t i = 0; i < pool->n_slots && !holds; i++)
        holds = pool->slots[i].state == SLOT_RUNNING &&
                (conversation_id[0] == '\0' ||
                 text_equal(pool->slots[i].conversation_id.text, conversation_id));
    lock_release(&pool->lock);
    return holds;
}

void pool_drain(struct pool *pool)
{
    lock_take(&pool->lock);
    pool->is_draining = true;
    for (size_t i = 0; i < pool->n_slots; i++) {
        if (slot_is_busy(&pool->slots[i]))
            run_control_request(&pool->slots[i].control, STOP_HAND_OVER);
    }
    lock_release(&pool->lock);
}

bool pool_is_empty(struct pool *pool)
{
    bool is_empty = true;

    lock_take(&pool->lock);
    for (size_t i = 0; i < pool->n_slots; i++)
        is_empty = is_empty && pool->slots[i].state == SLOT_FREE;
    lock_release(&pool->lock);
    return is_empty;
}
