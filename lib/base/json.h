/*
 * jansson with our errors: parses with limits, builds and reads by format, so that a wrong format,
 * bad UTF-8 or a missing key is an error with the library's message.
 *
 * Threading: a json_t belongs to one thread; its text may cross.
 * Decision: docs/decisions/0054-text-that-is-no-utf8.md
 * Decision: docs/decisions/0055-json-writer.md
 */
#ifndef DEFT_BASE_JSON_H
#define DEFT_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct error;
struct strbuf;

/* Deeper nesting is refused. */
#define JSON_MAX_DEPTH 64
/*
 * Counted as commas and opening brackets; a value takes up to 400 bytes of memory, and may be only
 * two bytes of text.
 */
#define JSON_MAX_VALUES 500000

/* Makes jansson allocate through base/mem. Call once, first thing in main(). */
void json_setup(void);

/*
 * Parses a whole document of any type. Duplicate keys, depth over JSON_MAX_DEPTH, more than
 * JSON_MAX_VALUES, NUL characters and bad UTF-8 are ERROR_INVALID with line and column. The caller
 * owns *json_out.
 */
int json_parse(const char *text, size_t len, json_t **json_out,
               struct error *err) NONNULL MUST_CHECK;
/*
 * As json_parse(), with max_values instead of JSON_MAX_VALUES; ERROR_TOO_LARGE for more of them,
 * and for deeper nesting.
 */
int json_parse_limited(const char *text, size_t len, size_t max_values, json_t **json_out,
                       struct error *err) NONNULL MUST_CHECK;
/*
 * Parses the array or object at the start of the text and ignores what follows; the last of
 * duplicate keys wins. Limits as json_parse().
 */
int json_parse_first(const char *text, size_t len, json_t **json_out,
                     struct error *err) NONNULL MUST_CHECK;
/* As json_parse(), for text that we generated: a failure is ERROR_INTERNAL. */
int json_parse_own(const char *text, size_t len, json_t **json_out,
                   struct error *err) NONNULL MUST_CHECK;

/* True for a Content-Type of JSON: application/json, or a type with the suffix +json. RFC 6839. */
bool json_is_media_type(const char *content_type) NONNULL MUST_CHECK;
/* Sets ERROR_MEDIA_TYPE with a message for the client; returns -1. */
int json_refuse_media_type(struct error *err) NONNULL MUST_CHECK;

/* json_pack() whose failure is an error; a new reference, or NULL with err set. */
json_t *json_build(struct error *err, const char *format, ...)
    __attribute__((nonnull(1, 2))) MUST_CHECK;

/* json_unpack() whose failure is ERROR_INVALID. */
int json_read(json_t *json, struct error *err, const char *format, ...)
    __attribute__((nonnull(2, 3))) MUST_CHECK;

/* Appends the compact text of json. */
void json_append_text(struct strbuf *out, const json_t *json) NONNULL;
/*
 * Completes an object that out ends with: its opening brace, and perhaps members, each followed by
 * a comma. Appends the members of json, whose keys differ from those, and the closing brace.
 */
void json_append_rest(struct strbuf *out, const json_t *json) NONNULL;
/* The compact text; the caller frees with mem_free(). */
char *json_to_text(const json_t *json) NONNULL MUST_CHECK;

/* The string member `key`, or fallback when it is absent, null or no string. Borrowed. */
const char *json_text_or(const json_t *object, const char *key, const char *fallback)
    __attribute__((nonnull(2))) MUST_CHECK;
/* The integer member `key`, or fallback. */
json_int_t json_int_or(const json_t *object, const char *key, json_int_t fallback)
    __attribute__((nonnull(2))) MUST_CHECK;
/* The number member `key`, integer or real, or fallback. */
double json_number_or(const json_t *object, const char *key, double fallback)
    __attribute__((nonnull(2))) MUST_CHECK;
/* The boolean member `key`, or fallback (0 or 1). */
int json_bool_or(const json_t *object, const char *key, int fallback)
    __attribute__((nonnull(2))) MUST_CHECK;
/*
 * Sets a member; the object takes over the value. A NULL value is left out; broken UTF-8 in the key
 * is repaired.
 */
void json_put(json_t *object, const char *key, json_t *value) __attribute__((nonnull(1, 2)));
/* Sets a text member; a NULL text is left out; broken UTF-8 is repaired. */
void json_put_text(json_t *object, const char *key, const char *text)
    __attribute__((nonnull(1, 2)));
/* The object member of that name; added, empty, if it is missing. Borrowed. */
json_t *json_need_object(json_t *object, const char *name) NONNULL;
/* Appends a value; the array takes it over. */
void json_push(json_t *array, json_t *value) NONNULL;
/* A JSON string from any bytes: broken UTF-8 and NULs are repaired. Never NULL. */
json_t *json_text(const char *bytes, size_t len) MUST_CHECK;
/* As json_text(), up to the NUL; JSON's null for NULL. Never NULL. */
json_t *json_text_of(const char *text) MUST_CHECK;
/* Removes null members at all depths. */
void json_drop_nulls(json_t *json) NONNULL;

#endif
