/*
 * Bytes as text and back: hex, base64url (RFC 4648, section 5, without padding), percent encoding
 * (RFC 3986, section 2.1), shell words.
 */
#ifndef DEFT_BASE_ENCODE_H
#define DEFT_BASE_ENCODE_H

#include <stddef.h>

#include "base/attr.h"

struct error;
struct strbuf;

/* Writes 2 * len lower-case digits and a NUL. */
void hex_encode(const unsigned char *bytes, size_t len, char *hex_out) NONNULL;
/* The value of a hex digit in either case, or -1. */
int hex_value(char c) MUST_CHECK;
/* Exactly 2 * len digits; ERROR_INVALID otherwise. */
int hex_decode(const char *hex, unsigned char *bytes_out, size_t len,
               struct error *err) NONNULL MUST_CHECK;
void base64url_append(struct strbuf *out, const unsigned char *bytes, size_t len) NONNULL;
/* Appends the decoded bytes; ERROR_INVALID for a foreign character or an impossible length. */
int base64url_decode(const char *text, struct strbuf *out, struct error *err) NONNULL MUST_CHECK;
/* Standard alphabet with padding (RFC 4648, section 4), as data URLs require. */
void base64_append(struct strbuf *out, const unsigned char *bytes, size_t len) NONNULL;
/* Appends the decoded bytes: RFC 4648, section 4; line ends are skipped. ERROR_INVALID. */
int base64_decode(const char *text, size_t len, struct strbuf *out,
                  struct error *err) NONNULL MUST_CHECK;
/* Appends text with all but unreserved characters as %XX. */
void percent_append(struct strbuf *out, const char *text) NONNULL;
void percent_append_bytes(struct strbuf *out, const char *bytes, size_t len) NONNULL;
/* Appends len bytes with %XX decoded; a lone % stays; `plus` is what '+' becomes (' ' in queries).
 */
void percent_decode(struct strbuf *out, const char *text, size_t len, char plus) NONNULL;

/* Appends text quoted as one word of a POSIX shell, whatever it contains: 'it'\''s'. */
void shell_word_append(struct strbuf *out, const char *text) NONNULL;

#endif
