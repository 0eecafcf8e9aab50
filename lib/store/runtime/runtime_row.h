/*
 * A runtime's row: adding one within a transaction, reading several; only lib/store includes this.
 */
#ifndef DEFT_STORE_RUNTIME_RUNTIME_ROW_H
#define DEFT_STORE_RUNTIME_RUNTIME_ROW_H

#include <stdint.h>

#include <libpq-fe.h>

#include "base/attr.h"

struct db_tx;
struct error;
struct runtime;
struct runtime_list;

/* The columns that runtime_row_list() reads, in order. */
#define RUNTIME_COLUMNS                                                                            \
    "id, session_id, owner_id, desired, status, status_detail, image, spec::text, container_id,"   \
    " network, url, session_key, session_key_hash, restart_count,"                                 \
    " (extract(epoch FROM created_at) * 1000000)::bigint, tenant_id, tenant_session,"              \
    " (extract(epoch FROM since) * 1000000)::bigint, is_held, proves"

/*
 * max_runtimes: limit of running runtimes of the row's tenant; 0: no tenant. ERROR_RATE_LIMITED
 * when that many others run already, ERROR_CONFLICT when the session has a live runtime.
 */
int runtime_row_add(struct db_tx *tx, const struct runtime *runtime, int64_t max_runtimes,
                    struct error *err) NONNULL MUST_CHECK;
/* All rows of a result, in its order. */
int runtime_row_list(const PGresult *rows, struct runtime_list *list_out,
                     struct error *err) NONNULL MUST_CHECK;

#endif
