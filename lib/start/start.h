/*
 * How a conversation begins:
 *
 *     parse → expand → validate → place → store
 *
 * The request is parsed once; each stage is a module with one function. Nothing here calls a
 * sandbox.
 *
 *     CLEANUP(start_done) struct start start = START_INIT;
 *
 *     if (start_prepare(&context, body, NULL, &start, err) < 0 ||
 *         start_store(&context, &start.plan, &outcome, err) < 0)
 *         return -1;
 *
 * Ownership: start_done(), also after a failure.
 * Threading: a start belongs to its thread.
 * Decision:  docs/decisions/0072-starts.md
 */
#ifndef DEFT_START_START_H
#define DEFT_START_START_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "start/start_parse.h"
#include "start/start_validate.h"

struct error;
struct start_context;

struct start {
    struct start_request request;
    struct start_plan plan;
};

/* clang-format off */
#define START_INIT {.request = START_REQUEST_INIT, .plan = START_PLAN_INIT}
/* clang-format on */

void start_done(struct start *start);

/*
 * Whether the body names a conversation that the caller has, which is then loaded: the rest of the
 * body is ignored. Errors of the database.
 */
int start_find_existing(const struct start_context *context, const json_t *body, bool *is_found_out,
                        struct conversation *conversation_out,
                        struct error *err) NONNULL MUST_CHECK;
/*
 * All stages but the last. body and tracing: as start_parse(). Errors: those of the stages; with
 * start->request.refusal set, that is the 422 body.
 */
int start_prepare(const struct start_context *context, json_t *body, json_t *tracing,
                  struct start *start, struct error *err)
    __attribute__((nonnull(1, 2, 4, 5))) MUST_CHECK;

#endif
