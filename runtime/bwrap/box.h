/*
 * A box is one start of a sandbox; its id is the runtime's and a random suffix. Its folder contains
 * order.json (parameters of the start), status (one JSON object per line: the guardian, which is
 * bubblewrap's own process, recorded before it begins; then bubblewrap's reports: the sandbox's
 * first process and, at the end, its exit code) and said (its output). The folder is created before
 * any of its processes and removed after all of them.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_BWRAP_BOX_H
#define DEFT_RUNTIME_BWRAP_BOX_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"

struct bwrap_host;
struct error;
struct sandbox_config;
struct seen_list;
struct strbuf;

/* Appends the path of a box's file; of its folder if the file is "". */
void box_append_path(const struct bwrap_host *host, const char *box, const char *file,
                     struct strbuf *path) NONNULL;
/* Creates the folder and writes order.json. */
int box_make(const struct bwrap_host *host, const char *box, const struct sandbox_config *order,
             struct error *err) NONNULL MUST_CHECK;
/* Descriptor and pid of its first process; ERROR_NOT_FOUND if there is none (any more). */
int box_open(const struct bwrap_host *host, const char *box, int *pidfd_out, pid_t *pid_out,
             struct error *err) NONNULL MUST_CHECK;
/* Records `pid` as the guardian in the status file. */
int box_note_guardian(int status_fd, pid_t pid, struct error *err) MUST_CHECK;
/* As box_open(). The guardian ends shortly after the first process, once it has written why. */
int box_open_guardian(const struct bwrap_host *host, const char *box, int *pidfd_out,
                      pid_t *pid_out, struct error *err) NONNULL MUST_CHECK;
/* -1 if it has not ended, or its exit code is unknown. */
int box_exit_code(const struct bwrap_host *host, const char *box) NONNULL MUST_CHECK;
bool box_is_paused(const struct bwrap_host *host, const char *box, pid_t pid) NONNULL MUST_CHECK;
int box_list(const struct bwrap_host *host, struct seen_list *list_out,
             struct error *err) NONNULL MUST_CHECK;
/* Sets why_out to the reason why it ended. */
void box_explain(const struct bwrap_host *host, const char *box, struct error *why_out) NONNULL;

#endif
