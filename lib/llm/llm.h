/*
 * One call of a language model: routes the model's name to a provider, sends the prompt in the
 * provider's format, reads the answer (streamed or whole), validates, counts and prices it.
 * Transient failures are retried with backoff.
 *
 *     struct llm_call *call = llm_call_new(llm);        // keep it where a stop request finds it
 *     if (llm_call_run(call, &request, &reply, &failure, err) < 0) …
 *
 * Ownership: everything in a request is borrowed for the run. A reply owns its texts until
 * llm_reply_done(). A call is freed by the thread that ran it, once no thread can cancel it any
 * more.
 * Threading: a call runs on the caller's thread and blocks it; llm_call_cancel() may come from any
 * thread. struct llm is shared and immutable.
 * Decision: docs/decisions/0009-model-calls.md
 */
#ifndef DEFT_LLM_LLM_H
#define DEFT_LLM_LLM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "client/address_filter.h"
#include "model/event/stats.h"

struct catalogue;
struct crash_points;
struct error;
struct http;
struct direct_connections;
struct llm;
struct llm_call;
struct llm_prompt;
struct secret;

struct llm_options {
    const struct catalogue *catalogue; /* borrowed; outlives the llm */
    struct http *http;                 /* borrowed; outlives the llm */
    const char *scripted_dir;          /* DEFT_SCRIPTED_DIR; NULL: scripted/ models are refused */
    struct crash_points *crash;        /* borrowed; NULL: none */
};

/* Keeps borrowing what the options mark as borrowed; copies the rest. */
struct llm *llm_new(const struct llm_options *options) NONNULL MUST_CHECK;
void llm_free(struct llm *llm);

/*
 * Members of struct llm_request (below).
 *
 * spec:     the LLM object of the wire contract as stored (conversation_llm()): model, base_url,
 *           num_retries, retry_multiplier, retry_min_wait, retry_max_wait, timeout,
 *           stream_idle_timeout, stream, temperature, top_p, top_k, seed, max_output_tokens,
 *           reasoning_effort, extra_headers, litellm_extra_body, aws_access_key_id, …,
 * input_cost_per_token, … Absent or null members have the contract's defaults; unknown ones are
 * ignored. prompt:   begun for the same spec (llm/llm_prompt.h).
 *
 * A call is for one model. A caller with several to choose from begins a prompt for the next one
 * when a call has failed.
 */
struct llm_piece {
    bool is_reasoning; /* the model's reasoning; else text for the user */
    const char *text;  /* len bytes and a NUL; never empty */
    size_t len;
    const char *response_id; /* "" until the provider has sent one */
};

/* A failed attempt. */
struct llm_attempt {
    const char *reason;
    int64_t n_attempts;     /* the maximum; 0: no further attempt */
    int64_t retry_in_ms;    /* delay before the next attempt */
    int64_t gives_up_in_ms; /* when an outage is no longer waited out; 0: this is none */
};

/* Receives a streamed answer as it arrives, on the thread that runs the call. */
struct llm_listener {
    void (*piece)(void *owner, const struct llm_piece *piece);
    /* The pieces received so far are void. Called before the wait for the next attempt. */
    void (*failed)(void *owner, const struct llm_attempt *attempt);
    void *owner;
};

struct llm_request {
    json_t *spec;
    enum address_owner address_of; /* who supplied base_url or the provider's address */
    const struct secret *api_key;  /* NULL or unset: none */
    const struct llm_prompt *prompt;
    const char *usage_id;                /* "agent", "condenser"; goes into reply.usage */
    const char *conversation_id;         /* prompt_cache_key and session header; NULL: none */
    const struct llm_listener *listener; /* NULL: none */
    bool is_single_attempt;              /* without retries, whatever the spec says */
    bool releases_stack; /* for a long wait, see process_release_stack(): one of many threads */
    struct direct_connections
        *direct; /* the calling thread's, see client/direct_connections.h; NULL: none */
};

struct llm_tool_call {
    char *id;        /* the model's, or a generated "call_…", with a signature (llm/call_id.h) if
                        the model signs its calls; unique within the reply, also without */
    char *item_id;   /* the server's own id of the item with the call; NULL: none */
    char *name;      /* as the model wrote it: possibly not a tool's name */
    char *arguments; /* JSON as the model wrote it: possibly malformed; valid UTF-8, never "" */
};

struct llm_reply {
    char *response_id; /* the provider's, or a generated one; never empty */
    char *model;       /* the requested name */
    char *text;        /* "" when there is none */
    char *reasoning;   /* NULL when there is none */
    /*
     * Array of blocks that the model wants back unchanged with the message that has the calls:
     * {"type":"thinking","thinking","signature","model"} or {"type":"redacted_thinking","data",
     * "model"}; model is the requested name. NULL when there is none.
     */
    json_t *thinking;
    /*
     * As thinking, of OpenAI's Responses: {"id", "summary": [text], "content": [text] or null,
     * "encrypted_content", "status", "model"}. NULL when there is none.
     */
    json_t *reasoning_item;
    char *finish_reason; /* stop, length, tool_calls, content_filter, or the provider's own */
    struct llm_tool_call *calls;
    size_t n_calls;
    char *call_problem;     /* for the model: why its call cannot be read; or NULL */
    struct llm_usage usage; /* usage_id is the request's; its other texts belong to this reply */
};

/* clang-format off */
#define LLM_REPLY_INIT {.response_id = NULL}
/* clang-format on */

void llm_reply_done(struct llm_reply *reply);

/* Exception class names of the wire contract, the values of ConversationErrorEvent.code. */
#define LLM_FAILURES(X)                                                                            \
    X(LLM_FAILURE_CONTEXT_WINDOW, "LLMContextWindowExceedError")                                   \
    X(LLM_FAILURE_MALFORMED_HISTORY, "LLMMalformedConversationHistoryError")                       \
    X(LLM_FAILURE_AUTHENTICATION, "LLMAuthenticationError")                                        \
    X(LLM_FAILURE_RATE_LIMIT, "LLMRateLimitError")                                                 \
    X(LLM_FAILURE_TIMEOUT, "LLMTimeoutError")                                                      \
    X(LLM_FAILURE_SERVICE_UNAVAILABLE, "LLMServiceUnavailableError")                               \
    X(LLM_FAILURE_CONTENT_POLICY, "LLMContentPolicyViolationError")                                \
    X(LLM_FAILURE_BAD_REQUEST, "LLMBadRequestError")                                               \
    X(LLM_FAILURE_NO_RESPONSE, "LLMNoResponseError")                                               \
    X(LLM_FAILURE_NOT_FOUND, "NotFoundError")                                                      \
    X(LLM_FAILURE_BAD_GATEWAY, "BadGatewayError")                                                  \
    X(LLM_FAILURE_API, "APIError")                                                                 \
    X(LLM_FAILURE_CANCELLED, "OperationCancelled")

#define X(constant, text) constant,
enum llm_failure_kind { LLM_FAILURES(X) LLM_N_FAILURES };
#undef X

#define LLM_DETAIL_BYTES 1024

/* Why a call failed after all retries. A plain value. */
struct llm_failure {
    enum llm_failure_kind kind;
    bool is_outage;         /* the model's server is out of order: a later call may succeed */
    int64_t retry_after_ms; /* delay that the server asked for; -1: none */
    char
        detail[LLM_DETAIL_BYTES]; /* for the user, without secrets: ConversationErrorEvent.detail */
};

/* clang-format off */
#define LLM_FAILURE_INIT {LLM_FAILURE_API, false, -1, ""}
/* clang-format on */

/* The class name in the wire contract, such as "LLMRateLimitError". Static storage. */
const char *llm_failure_code(const struct llm_failure *failure) NONNULL MUST_CHECK;

/* A handle for one run at a time; may be run again after a run ends, unless cancelled. */
struct llm_call *llm_call_new(const struct llm *llm) NONNULL MUST_CHECK;
void llm_call_free(struct llm_call *call);
void llm_call_freep(struct llm_call **call) NONNULL;
/*
 * Calls the model and waits for the answer, including retries, or until llm_call_cancel().
 * ERROR_CANCELLED (kind CANCELLED) after a cancel. Any other failure sets kind and detail in
 * *failure_out and a code for the log in err: INVALID, UNAUTHENTICATED, RATE_LIMITED, TIMEOUT,
 * UNAVAILABLE, UNSUPPORTED (no format for that provider), FORBIDDEN (private address).
 * On failure *reply_out is as it was.
 */
int llm_call_run(struct llm_call *call, const struct llm_request *request,
                 struct llm_reply *reply_out, struct llm_failure *failure_out,
                 struct error *err) NONNULL MUST_CHECK;
/* Ends the run within milliseconds, even between attempts; sticky. From any thread. */
void llm_call_cancel(struct llm_call *call) NONNULL;

/* Most tokens that the model of that LLM object reads, as it or the catalogue says; 0: unknown. */
int64_t llm_window_tokens(const struct catalogue *catalogue, const json_t *spec) NONNULL MUST_CHECK;

/* True if the cost of a call of that LLM object's model is known, or its server may tell it. */
bool llm_has_price(const struct catalogue *catalogue, const json_t *spec) NONNULL MUST_CHECK;

/*
 * True if the retries of that LLM object are the contract's defaults: its client did not say how
 * long a call may be tried.
 */
bool llm_has_default_retries(const json_t *spec) NONNULL MUST_CHECK;

/* True for scripted/<file>: a model that plays back a file and needs no key. */
bool llm_model_is_scripted(const char *model) NONNULL MUST_CHECK;

#endif
