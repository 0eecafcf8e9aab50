#include "store/db/db_hint.h"

#include <stddef.h>

#include "base/error.h"
#include "store/db/db_query.h"
#include "store/db/hints.h"

void db_hint(const struct db *db, unsigned kinds, const char *id)
{
    struct hints *hints = db_hints(db);

    for (unsigned kind = 0; hints != NULL && kind < HINT_N_KINDS; kind++) {
        if ((kinds & 1U << kind) != 0)
            hints_send(hints, (enum hint_kind)kind, id);
    }
}

bool db_hint_is_due(int rc, const struct error *err)
{
    return rc == 0 || err->code == ERROR_UNAVAILABLE;
}
