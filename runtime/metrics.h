/*
 * What the service counts about starts, as Prometheus reads it.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_METRICS_H
#define DEFT_RUNTIME_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct metrics;
struct strbuf;

#define START_KINDS(X) X(START_WARM, "warm") X(START_COLD, "cold")
/* Why a start found nothing in the warm pool: none was ready, or nobody had asked for its like. */
#define MISS_REASONS(X) X(MISS_NONE_READY, "none_ready") X(MISS_CLASS, "class")

#define X(constant, text) constant,
enum start_kind { START_KINDS(X) START_N_KINDS };
enum miss_reason { MISS_REASONS(X) MISS_N_REASONS };
#undef X

const char *start_kind_to_string(enum start_kind kind) MUST_CHECK;

struct metrics *metrics_new(void) MUST_CHECK;
void metrics_free(struct metrics *metrics);
void metrics_count_hit(struct metrics *metrics) NONNULL;
void metrics_count_miss(struct metrics *metrics, enum miss_reason reason) NONNULL;
/* A sandbox runs; duration_ms: since its start was begun. */
void metrics_count_start(struct metrics *metrics, enum start_kind kind,
                         int64_t duration_ms) NONNULL;
/* How many members of each class are ready, and should be. */
void metrics_set_pool(struct metrics *metrics, const size_t *ready, const size_t *wanted,
                      size_t n) NONNULL;
void metrics_append(struct metrics *metrics, struct strbuf *text) NONNULL;

#endif
