/*
 * Tables as text: one row per line, fields separated by tabs; empty lines and lines that begin with
 * # are comments.
 *
 * Ownership: tsv_done() releases a reader; fields live until the next row.
 * Threading: one thread.
 */
#ifndef DEFT_MODEL_CATALOGUE_TSV_H
#define DEFT_MODEL_CATALOGUE_TSV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct text_file;

enum { TSV_FIELDS_MAX = 16 };

struct tsv {
    const struct text_file *file; /* borrowed */
    const char *rest;
    size_t line; /* of the row, from 1 */
    const char *fields[TSV_FIELDS_MAX];
    size_t n; /* of the row's fields, also of those beyond the maximum */
    struct strbuf row;
};

void tsv_init(struct tsv *tsv, const struct text_file *file) NONNULL;
void tsv_done(struct tsv *tsv);
/* Reads the next row; false at the end. */
bool tsv_next(struct tsv *tsv) NONNULL MUST_CHECK;

#endif
