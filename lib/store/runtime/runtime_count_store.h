/*
 * Numbers of sandboxes, for monitoring.
 *
 * Ownership: the list is the caller's, tenant_count_list_done().
 */
#ifndef DEFT_STORE_RUNTIME_RUNTIME_COUNT_STORE_H
#define DEFT_STORE_RUNTIME_RUNTIME_COUNT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct db;
struct error;

struct tenant_count {
    char *tenant; /* name of the tenant's key; "": deft's own */
    char *status;
    int64_t count;
};

struct tenant_count_list {
    struct tenant_count *items;
    size_t n;
};

void tenant_count_list_done(struct tenant_count_list *list);
/* By tenant, then status; without zeros. */
int runtime_count_store_list(struct db *db, struct tenant_count_list *list_out,
                             struct error *err) NONNULL MUST_CHECK;

#endif
