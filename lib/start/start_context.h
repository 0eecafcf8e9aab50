/*
 * What a start depends on besides the request: the process's handles and limits, and the caller.
 * Processes fill it in; the stages read it.
 *
 * Ownership: all pointers are borrowed; `problems` is appended to.
 * Threading: belongs to the start's thread.
 */
#ifndef DEFT_START_START_CONTEXT_H
#define DEFT_START_START_CONTEXT_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "model/agent/conversation_defaults.h"
#include "store/conversation/conversation_store.h"
#include "store/user/document_store.h"

struct catalogue;
struct db;
struct error;
struct keyring;

enum start_caller_kind {
    START_BY_USER,
    START_BY_SANDBOX, /* by the key of a sandbox: its conversations run there, see no user's data */
};

/* Access of a sandbox's key to its user's stored secrets. */
enum start_secret_access { START_SECRETS_REFUSED, START_SECRETS_READABLE };

struct start_caller {
    enum start_caller_kind kind;
    struct conversation_scope scope; /* the user, and the caller's conversation scope */
    const char *runtime_session; /* where its conversations without a sandbox of their own run */
    const char *runtime_id;      /* START_BY_SANDBOX */
    enum start_secret_access secrets; /* START_BY_SANDBOX */
};

/* The server's own LLM, used where a request names none. */
struct start_llm {
    const char *model;
    const char *base_url;
    const char *key; /* "": none */
};

struct start_limits {
    struct run_limits runs;
    int64_t memory_bytes; /* of a sandbox */
    int64_t nano_cpus;
};

struct start_context {
    struct db *db;
    const struct catalogue *catalogue;
    const struct keyring *keyring;
    struct conversation_defaults defaults;
    struct start_llm llm;
    struct start_limits limits;
    struct start_caller caller;
    json_t *problems; /* validation errors, the 422 body */
};

/* The caller's documents. */
struct document_scope start_document_scope(const struct start_context *context) NONNULL MUST_CHECK;
/* ERROR_FORBIDDEN for a sandbox's key: the user's stored data is not for its agent. */
int start_check_user(const struct start_context *context, struct error *err) NONNULL MUST_CHECK;
/* Fails with -1 when problems were noted. */
int start_check_problems(const struct start_context *context, struct error *err) NONNULL MUST_CHECK;
/*
 * The key for calling the LLM: its own, or the server's if it names the server's model. "" when
 * there is none. Borrowed.
 */
const char *start_llm_key(const struct start_llm *own, const json_t *llm)
    __attribute__((nonnull(1))) MUST_CHECK;

#endif
