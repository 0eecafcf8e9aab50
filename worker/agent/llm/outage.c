#include "worker/agent/llm/outage.h"

#include "base/clock.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "llm/llm.h"
#include "store/conversation/outage_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/database_retry.h"
#include "worker/agent/core/run_wait.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/llm/delta_stream.h"
#include "worker/context.h"

/* As long as the longest of the contract's waits between retries. */
enum { WAIT_MAX_MS = 64000 };

int64_t outage_next_ms(const struct outage_times *times, uint32_t random)
{
    int64_t left_ms = times->limit_ms - times->lasted_ms;
    int64_t wait_ms = (int64_t)(WAIT_MAX_MS * ((double)random / (double)UINT32_MAX));

    if (left_ms <= 0)
        return -1;
    if (times->retry_after_ms > wait_ms)
        wait_ms = times->retry_after_ms;
    return wait_ms < left_ms ? wait_ms : left_ms;
}

bool outage_lasts(const struct agent *agent)
{
    return agent->n_model_waits > 0;
}

void outage_note_end(struct agent *agent)
{
    agent->n_model_waits = 0;
}

static struct outage_times times_of(const struct agent *agent, const struct llm_failure *failure)
{
    return (struct outage_times){
        .lasted_ms = outage_lasts(agent) ? clock_monotonic_ms() - agent->model_out_since_ms : 0,
        .limit_ms = agent->context->settings.model_outage_ms,
        .retry_after_ms = failure->retry_after_ms,
    };
}

bool outage_may_wait(const struct agent *agent, const struct llm_failure *failure)
{
    const struct outage_times times = times_of(agent, failure);

    return failure->is_outage && llm_has_default_retries(agent->llm_spec) &&
           outage_next_ms(&times, 0) >= 0;
}

/* The store's call, and the word of a stop request that refused it. */
struct outage_begin {
    const struct outage_wait *wait;
    char stop[STOP_WORD_BYTES];
};

static int try_wait(struct agent *agent, void *call, struct error *err)
{
    struct outage_begin *begin = call;

    if (outage_store_wait(agent->context->db, begin->wait, begin->stop, err) == 0)
        return 0;
    return error_is_transient(err) ? -1 : run_wait_refused(agent, begin->stop, err);
}

int outage_wait(struct agent *agent, const struct llm_failure *failure, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf reason = STRBUF_INIT;
    const struct outage_times times = times_of(agent, failure);
    struct outage_wait wait = {.lease = &agent->lease,
                               .lasted_ms = times.lasted_ms,
                               .n_waits = agent->n_model_waits + 1,
                               .asked_seq = agent->history.last_seq};
    struct outage_begin begin = {&wait, ""};
    uint32_t random = 0;

    crypto_random(&random, sizeof(random));
    wait.next_ms = outage_next_ms(&times, random);
    secret_list_mask_text(&agent->secrets, failure->detail, &reason);
    wait.reason = reason.text;
    if (database_retry(agent, try_wait, &begin, err) < 0)
        return -1;
    log_info("run.waits_for_model", LOG_STR("code", llm_failure_code(failure)),
             LOG_INT("waits", wait.n_waits), LOG_INT("wait_ms", wait.next_ms),
             LOG_INT("lasted_ms", wait.lasted_ms));
    retry_notice_send_outage(
        agent, &(struct llm_attempt){.reason = failure->detail,
                                     .n_attempts = wait.n_waits + 1,
                                     .retry_in_ms = wait.next_ms,
                                     .gives_up_in_ms = times.limit_ms - times.lasted_ms});
    agent->is_over = true;
    return 0;
}
