/*
 * Tables of the members that a wire object may have; schemas consist of these.
 *
 * Ownership: tables are constants of the program.
 */
#ifndef DEFT_MODEL_SCHEMA_FIELD_H
#define DEFT_MODEL_SCHEMA_FIELD_H

#include <stdbool.h>
#include <stddef.h>

enum field_kind {
    FIELD_TEXT,
    FIELD_BOOL,
    FIELD_INT,
    FIELD_NUMBER,
    FIELD_UUID,
    FIELD_ANY,
    FIELD_MAP,      /* an object with any values */
    FIELD_TEXT_MAP, /* an object of strings */
    FIELD_LIST,     /* a list of any values */
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

struct object_schema;

struct field {
    const char *name;
    enum field_kind kind;
    unsigned rules;
    const char *fallback; /* JSON text of the default; NULL: null if nullable, else none */
    const char *words;    /* the allowed values, separated by '|'; NULL: any */
    const struct object_schema *items; /* of FIELD_OBJECT and FIELD_OBJECTS */
    size_t max_chars;                  /* of a text; 0: no limit */
};

struct object_schema {
    const struct field *fields;
    size_t n;
    bool is_closed; /* members not in the table are problems, else dropped */
};

#define SCHEMA(fields) {fields, ARRAY_SIZE(fields), false}
#define CLOSED_SCHEMA(fields) {fields, ARRAY_SIZE(fields), true}

#endif
