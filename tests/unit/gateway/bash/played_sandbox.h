/*
 * A sandbox, the Runtime API and the clock as a bash feed sees them, for tests: requests are noted
 * and stay open until the test answers them. Commands, feeds, readers and windows are real.
 *
 * Ownership: one per program; played_reset() begins a test.
 */
#ifndef DEFT_TESTS_UNIT_GATEWAY_BASH_PLAYED_SANDBOX_H
#define DEFT_TESTS_UNIT_GATEWAY_BASH_PLAYED_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auth/principal.h"
#include "base/attr.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "gateway/bash/bash_feed.h"
#include "gateway/core/async_http.h"
#include "gateway/core/connection.h"
#include "gateway/core/ticker.h"

enum played_kind { PLAYED_FIND, PLAYED_START, PLAYED_NEWEST, PLAYED_AFTER, PLAYED_POST };

struct played_request {
    enum played_kind kind;
    struct async_call *call;
    char text[512]; /* the session, or the command's body */
    int64_t after_us;
    int64_t wait_ms; /* of a start, a search, or the time for an answer of a find */
    bool is_doubted;
};

enum { PLAYED_REQUESTS = 64 };

struct played_sandbox {
    int64_t now_ms; /* both clocks */
    int64_t tick_in_ms;
    int64_t parse_ms; /* how long it takes to parse a page */
    bool is_unable;   /* requests fail at once */
    struct played_request requests[PLAYED_REQUESTS];
    size_t n_requests;
    size_t n_dropped;
    struct strbuf page; /* the next page that is read */
    const char *url;    /* the next place of the sandbox */
    const char *runtime_id;
    const char *call_key;
    size_t n_errors; /* error frames, of which the last is below */
    struct connection *told;
    char code[32];
    char detail[ERROR_MESSAGE_BYTES];
};

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the stubs have no owner */
extern struct played_sandbox played;

/* What a feed borrows; all of it is filled in by played_reset(). */
struct played_feeds {
    struct async_http http;
    struct ticker ticker;
    struct bash_feeds feeds;
    struct principal principal;
};

void played_reset(struct played_feeds *parts) NONNULL;
void played_done(void);
/* Makes the next page: n events with the times first_us, first_us + 1, … */
void played_page(int64_t first_us, int n);
/* The last request; fails if it is of another kind. */
struct played_request *played_last(enum played_kind kind);
/* Fails unless so many requests were made in all. */
void played_expect(size_t n_requests);
/* Answers a request: with the next page, place or a success, or with that failure. */
void played_answer(struct async_call *call) NONNULL;
void played_fail(struct async_call *call, enum error_code code, const char *message) NONNULL;
/* Fails unless the last error frame is that one. */
void played_expect_error(const struct connection *told, const char *code,
                         const char *detail) NONNULL;

#endif
