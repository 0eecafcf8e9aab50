/*
 * A request, parsed once from the FastCGI parameters; handlers check the parts they use.
 *
 * Handlers get it const and return -1 with an error; problems with single fields are collected in
 * `problems`, which the dispatcher sends as the contract's 422 body.
 * Ownership: a request owns what it points to, except `context` and `input`; borrowed results live
 * as long as the request.
 * Threading: a request belongs to one thread.
 */
#ifndef DEFT_FCGI_CORE_REQUEST_H
#define DEFT_FCGI_CORE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "auth/principal.h"
#include "base/attr.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "model/schema/validation_error.h"
#include "web/url_path.h"

struct error;
struct fcgi_context;
struct transfer_rate;
struct request_input;
struct route;
struct object_schema;

#define HTTP_METHODS(X)                                                                            \
    X(HTTP_GET, "GET")                                                                             \
    X(HTTP_POST, "POST")                                                                           \
    X(HTTP_PUT, "PUT")                                                                             \
    X(HTTP_PATCH, "PATCH")                                                                         \
    X(HTTP_DELETE, "DELETE")                                                                       \
    X(HTTP_OPTIONS, "OPTIONS")                                                                     \
    X(HTTP_OTHER, "")

#define X(constant, text) constant,
enum http_method { HTTP_METHODS(X) HTTP_N_METHODS };
#undef X

/* The origins that nginx serves, as bits: a route lists those that serve it. */
enum origin { ORIGIN_APP = 1, ORIGIN_AGENT = 2, ORIGIN_PREVIEW = 4, ORIGIN_SOCKET = 8 };

enum { QUERY_MAX_ITEMS = 300 };

struct query_item {
    char *name;
    char *value;
};

struct request {
    const struct fcgi_context *context;
    const struct request_input *input;
    char id[33];
    enum http_method method;
    const char *method_text;
    enum origin origin;
    const char *target; /* raw path and query, as received */
    struct url_path path;
    const char *query_text; /* raw, "" when there is none */
    struct query_item *query;
    size_t n_query;
    int64_t content_length; /* -1 when not given */
    const struct route *route;
    struct path_params params; /* of the route's pattern */
    struct principal principal;
    struct strbuf body;
    json_t *problems;
};

/* The method as it is written in a request. */
const char *http_method_to_string(enum http_method method) MUST_CHECK;
/* True for methods that change state. */
bool http_method_is_unsafe(enum http_method method) MUST_CHECK;

/*
 * Reads method, path, query and the headers that may occur only once. ERROR_INVALID when they are
 * malformed (answered with 400). Call request_done() after a failure, too.
 */
int request_init(struct request *request, const struct fcgi_context *context,
                 const struct request_input *input, struct error *err) NONNULL MUST_CHECK;
void request_done(struct request *request);

/* A FastCGI parameter such as REQUEST_SCHEME, HTTP_ORIGIN; NULL when absent or empty. */
const char *request_param(const struct request *request, const char *name) NONNULL;
/*
 * For a key in the request that failed look-up: counts it as wrong. Returns -1 with
 * ERROR_RATE_LIMITED in place of ERROR_UNAUTHENTICATED when its address sent too many.
 */
int request_refuse_key(const struct request *request, struct error *err) NONNULL MUST_CHECK;
/* Copies the value of a cookie; false when it is absent, repeated or longer than the buffer. */
bool request_cookie(const struct request *request, const char *name, char *value_out,
                    size_t size) NONNULL MUST_CHECK;

/*
 * Reads up to size bytes of the body; returns their number, 0 at its end. ERROR_INVALID when it is
 * cut off, ERROR_SLOW_CLIENT when it arrives below the minimum rate.
 */
int request_read(const struct request *request, struct transfer_rate *rate, char *buffer,
                 size_t size, struct error *err) NONNULL MUST_CHECK;
/* Reads the body into request->body. ERROR_TOO_LARGE above max_bytes, ERROR_INVALID when cut off.
 */
int request_read_body(struct request *request, size_t max_bytes,
                      struct error *err) NONNULL MUST_CHECK;

/* Appends the raw path after its first n segments: "/c" of "/a/b/c" for 2. */
void request_append_path_rest(const struct request *request, size_t n_segments,
                              struct strbuf *out) NONNULL;
/* A path parameter; the pattern must have it. */
const char *request_path_text(const struct request *request, const char *name) NONNULL MUST_CHECK;
int request_path_uuid(const struct request *request, const char *name, struct uuid *uuid_out,
                      struct error *err) NONNULL MUST_CHECK;

/* The last value of a query parameter, or NULL. */
const char *request_query(const struct request *request, const char *name) NONNULL MUST_CHECK;
/* Reads an integer within min..max; *value_io stays when it is absent. */
struct int_range {
    int64_t min;
    int64_t max;
};
int request_query_int(const struct request *request, const char *name,
                      const struct int_range *range, int64_t *value_io,
                      struct error *err) NONNULL MUST_CHECK;
/* limit=, 1..PAGE_MAX_ITEMS, which is also the default. */
int request_query_limit(const struct request *request, int64_t *limit_out,
                        struct error *err) NONNULL MUST_CHECK;
int request_query_bool(const struct request *request, const char *name, bool *value_io,
                       struct error *err) NONNULL MUST_CHECK;
/* The position of the value among `choices` (ends with NULL); *index_io stays when it is absent. */
int request_query_choice(const struct request *request, const char *name,
                         const char *const *choices, size_t *index_io,
                         struct error *err) NONNULL MUST_CHECK;

/* True when the body contains more than white space. */
bool request_has_body(const struct request *request) NONNULL MUST_CHECK;
/* The body as JSON of any type. A new reference. */
int request_json(const struct request *request, json_t **json_out,
                 struct error *err) NONNULL MUST_CHECK;
/* The body as an object. The second form accepts an empty body as an object without members. */
int request_json_object(const struct request *request, json_t **json_out,
                        struct error *err) NONNULL MUST_CHECK;
int request_json_object_or_empty(const struct request *request, json_t **json_out,
                                 struct error *err) NONNULL MUST_CHECK;

/*
 * Reads the body's members by a shape and fills in defaults; an empty body is an object without
 * members.
 */
int request_json_schema(const struct request *request, const struct object_schema *schema,
                        json_t **values_out, struct error *err) NONNULL MUST_CHECK;

/* Limits of a text member, in characters, and whether it is required. */
struct text_rule {
    size_t min_chars;
    size_t max_chars;
    bool is_required;
};
/* A text member of a body. *text_out = NULL when it is absent or null. Borrowed from body. */
int request_member_text(const struct request *request, json_t *body, const char *name,
                        const struct text_rule *rule, const char **text_out,
                        struct error *err) NONNULL MUST_CHECK;
/* A boolean member; *value_io stays when it is absent. */
int request_member_bool(const struct request *request, json_t *body, const char *name,
                        bool *value_io, struct error *err) NONNULL MUST_CHECK;

/* A member of "path", "query" or "body". */
#define REQUEST_JSON_PATH(part, name)                                                              \
    (&(const struct json_path){&(const struct json_path){NULL, (part), 0}, (name), 0})
/*
 * Records a problem for the 422 body (problem->ctx is taken over, input may be NULL) and sets err
 * to ERROR_INVALID; returns -1.
 */
int request_problem(const struct request *request, const struct json_path *where,
                    const struct validation_error *problem, json_t *input, struct error *err)
    __attribute__((nonnull(1, 2, 3, 5))) MUST_CHECK;
/* For problems recorded by other code: sets err and returns -1. */
int request_problems_noted(struct error *err) NONNULL MUST_CHECK;

#endif
