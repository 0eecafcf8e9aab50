/*
 * Adding a runtime's row within a transaction; only lib/store includes this.
 */
#ifndef DEFT_STORE_RUNTIME_ROW_H
#define DEFT_STORE_RUNTIME_ROW_H

#include <stdint.h>

#include "base/attr.h"

struct db_tx;
struct error;
struct runtime;

/*
 * max_runtimes: that the row's tenant may have running; 0: it has none. ERROR_RATE_LIMITED when
 * others of it run already, ERROR_CONFLICT when the session has a live runtime.
 */
int runtime_row_add(struct db_tx *tx, const struct runtime *runtime, int64_t max_runtimes,
                    struct error *err) NONNULL MUST_CHECK;

#endif
