/*
 * Shapes: the members that an object of the wire may have, as tables. One reader checks a client's
 * or a model's object against its table, converts what may be converted ("5" for 5), fills in the
 * defaults, and says in words what is wrong.
 *
 * Ownership: tables live for ever; shape_read() gives a new object.
 * Threading: no state.
 */
#ifndef DEFT_MODEL_SCHEMA_SHAPE_H
#define DEFT_MODEL_SCHEMA_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct place;

enum field_kind {
    FIELD_TEXT,
    FIELD_BOOL,
    FIELD_INT,
    FIELD_NUMBER,
    FIELD_UUID,
    FIELD_ANY,
    FIELD_MAP,      /* an object of anything */
    FIELD_TEXT_MAP, /* an object of texts */
    FIELD_LIST,     /* a list of anything */
    FIELD_TEXTS,
    FIELD_INTS,
    FIELD_OBJECT,  /* an object of `items` */
    FIELD_OBJECTS, /* a list of objects of `items` */
};

enum {
    FIELD_REQUIRED = 1,
    FIELD_NULLABLE = 2,
    FIELD_FROM_0 = 4,  /* the number is 0 or more */
    FIELD_FROM_1 = 8,  /* the number is 1 or more */
    FIELD_FILLED = 16, /* the text is not empty */
};

struct shape;

struct field {
    const char *name;
    enum field_kind kind;
    unsigned rules;
    const char *fallback;      /* JSON text of the default; NULL: null when nullable, else none */
    const char *words;         /* the values allowed, separated by '|'; NULL: any */
    const struct shape *items; /* of FIELD_OBJECT and FIELD_OBJECTS */
    size_t max_chars;          /* of a text; 0: no limit of its own */
    const char *help;          /* for the model; NULL where no model reads it */
};

struct shape {
    const struct field *fields;
    size_t n;
    bool is_closed; /* members that are not in the table are problems, else they are dropped */
};

#define SHAPE(fields) {fields, ARRAY_SIZE(fields), false}
#define CLOSED_SHAPE(fields) {fields, ARRAY_SIZE(fields), true}

/*
 * A new object with the shape's members, in the table's order; members without value and default
 * are left out, nullable ones are null. What is wrong is appended to problems; such members are
 * missing in the result.
 */
json_t *shape_read(const struct shape *shape, json_t *input, const struct place *place,
                   json_t *problems) NONNULL MUST_CHECK;
/* The JSON schema of the shape as chat models want it, its help texts included. A new reference. */
json_t *shape_to_schema(const struct shape *shape) NONNULL MUST_CHECK;
/* The field of that name, or NULL. */
const struct field *shape_find(const struct shape *shape, const char *name) NONNULL MUST_CHECK;
/* True when word is one of words ("a|b|c"). */
bool words_contain(const char *words, const char *word) NONNULL MUST_CHECK;
/* The words as an array of texts; NULL: an empty one. A new reference. */
json_t *words_to_json(const char *words) MUST_CHECK;

#endif
