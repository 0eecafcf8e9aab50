/*
 * The account of the commands' user in the image's /etc/passwd.
 *
 * Threading: one thread; no state.
 * Source:    passwd(5)
 */
#ifndef DEFT_SANDBOX_CORE_ACCOUNT_H
#define DEFT_SANDBOX_CORE_ACCOUNT_H

#include <sys/types.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct account {
    struct strbuf name;
    struct strbuf home;
    off_t uid_at; /* offset of its uid in the file */
};

#define ACCOUNT_INIT {STRBUF_INIT, STRBUF_INIT, 0}

void account_done(struct account *account) NONNULL;
/*
 * Finds the account with this uid in the text of a passwd file, the first of several; without one,
 * nothing is set. libc's own lookup may load libraries that an image lacks.
 */
void account_find(const char *passwd, uid_t wanted, struct account *account) NONNULL;
/* The account with this uid; without one, the name is the number and the home is empty. */
void account_read(uid_t uid, struct account *account) NONNULL;
/*
 * As root: transfers the account of one user to another, with the files it owns in its home, so
 * that an image made for `from` works for `to`. Does nothing where there is no such account or the
 * root file system is read-only; the rest of a large home stays unchanged.
 */
void account_give(uid_t from, uid_t to);

#endif
