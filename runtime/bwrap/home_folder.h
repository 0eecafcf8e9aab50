/*
 * Homes: folders with a workspace, a journal and a user's files, owned by the home's host user.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_BWRAP_HOME_FOLDER_H
#define DEFT_RUNTIME_BWRAP_HOME_FOLDER_H

#include <sys/types.h>

#include "base/attr.h"
#include "runtime/backend/backend.h"

struct bwrap_host;
struct error;
struct strbuf;

/* The host uid of that home's processes: one of its own if this service runs as root. */
uid_t home_uid(const char *home) NONNULL MUST_CHECK;
void home_append_path(const struct bwrap_host *host, const char *home, const char *part,
                      struct strbuf *path) NONNULL;
/* Creates it, or its missing parts. */
int home_make(const struct bwrap_host *host, const char *home,
              struct error *err) NONNULL MUST_CHECK;
int home_make_new(struct bwrap_host *host, char home_out[BACKEND_NAME_BYTES],
                  struct error *err) NONNULL MUST_CHECK;
int home_remove(struct bwrap_host *host, const char *home, struct error *err) NONNULL MUST_CHECK;
/* Removes homes that belong to no row. */
int homes_tidy(struct bwrap_host *host, const struct kept_source *source,
               struct error *err) NONNULL MUST_CHECK;

#endif
