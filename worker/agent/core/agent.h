/*
 * What a run of one conversation holds. The stored history is the only state: any worker can go on
 * where another one stopped. What is in memory here is a copy of it, and what was received and is
 * about to be stored.
 *
 * Ownership: the agent owns the claim's content, its lane and its sandbox handle; the rest is
 * borrowed. Threading: an agent belongs to its conversation's thread; only its control is shared.
 */
#ifndef DEFT_WORKER_AGENT_CORE_AGENT_H
#define DEFT_WORKER_AGENT_CORE_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/secret.h"
#include "base/strbuf.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/mask.h"
#include "worker/agent/core/transcript.h"

struct control;
struct http_lane;
struct sandbox;
struct stats;
struct worker_context;

struct agent {
    struct worker_context *context;
    struct control *control;
    struct lease lease;
    struct conversation conversation;
    struct stats *stats; /* the conversation's, which has none itself meanwhile */
    struct history history;
    struct transcript transcript;
    struct strbuf tools; /* what the model may call, for llm_request.tools; "" before it is asked */
    struct secret_list secrets;
    json_t *withheld;      /* {id: action} of the last answer's calls whose stored form is masked */
    json_t *llm_spec;      /* of the conversation's own model, secrets in their places */
    struct secret llm_key; /* unset when there is none */
    struct http_lane *lane; /* of this thread's calls */
    struct sandbox *sandbox;
    int64_t n_iterations;  /* answers of the model in this run */
    struct uuid answer_id; /* that the event of the model's next answer will have */
    int64_t told_attempt;  /* of that answer, which was told while it came; 0: none was */
    int64_t asked_seq;     /* the model's last request saw everything up to here */
    int64_t claimed_seq;   /* where the log ended at the claim: pending calls below are inherited */
    int64_t n_claims;      /* of this conversation without progress */
    size_t unsummed_until; /* a view's length up to which its condenser had no summary */
    bool must_condense;    /* the model said that the view is more than it reads */
    bool has_foreign_stats; /* somebody added a cost to the row's: ours are not the whole */
    bool is_row_stale;      /* a client changed what the conversation is: read it again */
    bool is_tidy;           /* the history's beginning holds only what counts */
    bool is_over;           /* the run's end is stored, or it is not ours any more */
};

#endif
