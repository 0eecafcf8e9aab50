/*
 * Documentation of a route beyond its row: a summary, and the schemas of its input and output.
 * Entries are matched by method and pattern, which keeps the handlers' tables short; a route
 * without an entry is documented from its row alone.
 *
 * Ownership: tables are static.
 * Threading: no state.
 */
#ifndef DEFT_FCGI_OPENAPI_OPERATION_H
#define DEFT_FCGI_OPENAPI_OPERATION_H

#include "base/attr.h"
#include "fcgi/core/router.h"

struct object_schema;

/* A wire object under the name that clients know. */
struct named_schema {
    const char *name;
    const struct object_schema *schema; /* NULL: none */
};

enum body_form {
    BODY_FORM_OBJECT,
    BODY_FORM_OPTIONAL, /* an object, or nothing */
    BODY_FORM_IDS,      /* a list of texts */
    BODY_FORM_UPLOAD,   /* multipart/form-data with a file */
};

enum answer_form {
    ANSWER_OBJECT,
    ANSWER_LIST,
    ANSWER_LIST_OR_NULLS, /* null where an id is unknown */
    ANSWER_TEXTS,
    ANSWER_NUMBER,
    ANSWER_TEXT, /* text/plain */
    ANSWER_BYTES,
    ANSWER_NOTHING,
    ANSWER_UNSUPPORTED, /* 501, always */
};

struct operation {
    enum http_method method;
    const char *pattern; /* as in the route's row; NULL ends a table */
    const char *summary;
    const struct object_schema *query; /* NULL: no parameters */
    struct named_schema body;
    enum body_form body_form;
    struct named_schema answer;
    enum answer_form answer_form;
    int status; /* of success; 0: 200 */
};

/* A row; further members are given by name. */
#define OPERATION(method_, pattern_, summary_, ...)                                                \
    {.method = (method_), .pattern = pattern_, .summary = (summary_), __VA_ARGS__}

extern const struct operation server_operations[];
extern const struct operation conversation_operations[];
extern const struct operation sandbox_operations[];
extern const struct operation tool_operations[];
extern const struct operation model_operations[];
extern const struct operation extension_operations[];
extern const struct operation settings_operations[];
extern const struct operation profile_operations[];

/* All tables; ends with NULL. */
extern const struct operation *const operation_tables[];

/* The entry of a route, or NULL. */
const struct operation *operation_find(const struct route *route) NONNULL MUST_CHECK;

#endif
