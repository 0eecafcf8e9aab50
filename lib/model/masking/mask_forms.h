/*
 * The forms of secrets as a search tree of bytes with links to the longest suffix that is in the
 * tree (Aho and Corasick, 1975), and the ways to read a text in which they are looked for.
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

/* How a text is read. */
enum mask_view {
    VIEW_PLAIN,     /* as it is */
    VIEW_UNWRAPPED, /* without white space and colons: wrapped base64, spaced hexadecimal */
    VIEW_PERCENT,   /* %41 is A, + is a blank */
    VIEW_ESCAPED,   /* \n, \u0041, \x41, \101 and \" are what they mean; quotes are left out */
    VIEW_N,
};

/* Longer values are known by this many first bytes. */
enum { MASKER_HEAD_BYTES = 128 };

/* One byte of a form's head. Index 0 is the root, and stands for "none" in links. */
struct form_node {
    uint32_t child;
    uint32_t sibling;
    uint32_t suffix;
    uint32_t tails; /* index + 1 of the first */
    uint8_t byte;
    uint8_t depth;
    uint8_t len[VIEW_N]; /* of the longest form that ends here, in that view */
};

/* What follows the head of a long form. */
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
/* Adds all forms of a value, and the one text that hides them. */
void mask_forms_add(struct mask_forms *forms, const char *value, size_t len) NONNULL;
void mask_forms_add_plain(struct mask_forms *forms, const char *text, size_t len) NONNULL;
/* To be called before mask_forms_next(), whenever something was added. */
void mask_forms_link(struct mask_forms *forms) NONNULL;

/* The node that a form goes on with after another, or 0. */
uint32_t mask_forms_child(const struct mask_forms *forms, uint32_t node,
                          unsigned char byte) NONNULL MUST_CHECK;
/* True where a form, or the head of a long one, ends with the node. */
bool mask_forms_is_end(const struct mask_forms *forms, uint32_t node) NONNULL MUST_CHECK;
/* The node of the longest suffix of what was read that a form begins with. */
uint32_t mask_forms_next(const struct mask_forms *forms, uint32_t node,
                         unsigned char byte) NONNULL MUST_CHECK;

#endif
