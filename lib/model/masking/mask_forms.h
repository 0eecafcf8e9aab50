/*
 * The forms (encodings) of secrets as a byte trie with suffix links (Aho and Corasick, 1975), and
 * the views (decodings) of a text that are searched for them.
 *
 * Threading: belongs to one thread.
 */
#ifndef DEFT_MODEL_MASKING_MASK_FORMS_H
#define DEFT_MODEL_MASKING_MASK_FORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/secret.h"

/* The ways to decode a text. */
enum mask_view {
    VIEW_PLAIN,     /* verbatim */
    VIEW_UNWRAPPED, /* without white space and colons: wrapped base64, spaced hexadecimal */
    VIEW_PERCENT,   /* %41 is A, + is a space */
    VIEW_ESCAPED,   /* \n, \u0041, \x41, \101 and \" are decoded; quotes are left out */
    VIEW_N,
};

/* Longer values are detected by their first bytes, this many. */
enum { MASKER_HEAD_BYTES = 128 };

/* One byte of a form's head. Index 0 is the root, and means "none" in links. */
struct form_node {
    uint32_t child;
    uint32_t sibling;
    uint32_t suffix;
    uint32_t tails; /* index + 1 of the first */
    uint8_t byte;
    uint8_t depth;
    uint8_t len[VIEW_N]; /* of the longest form that ends here, per view */
};

/* The bytes after the head of a long form. */
struct form_tail {
    struct secret bytes;
    unsigned views;
    uint32_t next; /* index + 1 of another with the same head */
};

struct mask_forms {
    struct form_node *nodes;
    size_t n_nodes;
    size_t size;
    struct form_tail *tails;
    size_t n_tails;
    uint32_t first[256]; /* children of the root */
    bool is_linked;
};

void mask_forms_begin(struct mask_forms *forms) NONNULL;
/* Wipes and releases. */
void mask_forms_done(struct mask_forms *forms) NONNULL;
/* Adds all forms of a value; mask_forms_add_plain(): a text in verbatim form only. */
void mask_forms_add(struct mask_forms *forms, const char *value, size_t len) NONNULL;
void mask_forms_add_plain(struct mask_forms *forms, const char *text, size_t len) NONNULL;
/* Must be called before mask_forms_next() after each addition. */
void mask_forms_link(struct mask_forms *forms) NONNULL;

/* Returns a node's child for a byte, or 0. */
uint32_t mask_forms_child(const struct mask_forms *forms, uint32_t node,
                          unsigned char byte) NONNULL MUST_CHECK;
/* True if a form, or the head of a long one, ends at the node. */
bool mask_forms_is_end(const struct mask_forms *forms, uint32_t node) NONNULL MUST_CHECK;
/* Returns the node of the longest suffix of the bytes read that is a prefix of a form. */
uint32_t mask_forms_next(const struct mask_forms *forms, uint32_t node,
                         unsigned char byte) NONNULL MUST_CHECK;

#endif
