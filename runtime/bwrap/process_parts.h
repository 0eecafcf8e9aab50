/*
 * Internals of the process back end, shared by its files.
 *
 * A box is one start of a sandbox; its id is the runtime's and a random suffix. Its folder contains
 * order.json (parameters of the start), status (one JSON object per line: the guardian, which is
 * bubblewrap's own process, recorded before it begins; then bubblewrap's reports: the sandbox's
 * first process and, at the end, its exit code) and said (its output). The folder is created before
 * any of its processes and removed after all of them.
 *
 * Threading: settings and names are read-only after the first preparation; the lock guards the
 * rest.
 */
#ifndef DEFT_RUNTIME_BWRAP_PROCESS_PARTS_H
#define DEFT_RUNTIME_BWRAP_PROCESS_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/strbuf.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/layout.h"
#include "runtime/backend/spares.h"
#include "runtime/bwrap/process_group.h"
#include "runtime/bwrap/process_settings.h"

#define BOX_ID_BYTES 32
#define FITTINGS_BYTES 16

/* A box whose end is awaited. */
struct watched {
    char box[BOX_ID_BYTES];
    int pidfd;
    bool is_child; /* our child: must be waited for */
};

struct process_host {
    struct backend backend; /* must be first */
    struct process_settings settings;
    struct spares *spares; /* homes that are in no row yet */
    char fittings[FITTINGS_BYTES];
    struct groups groups;
    int wake_fd;
    struct lock lock;   /* guards all below */
    struct error state; /* ERROR_NONE: bubblewrap works here */
    struct watched *watched;
    size_t n_watched;
    bool is_stopping;
};

/* --- process_box.c --- */

/* Appends the path of a box's file; of its folder if the file is "". */
void box_append_path(const struct process_host *host, const char *box, const char *file,
                     struct strbuf *path) NONNULL;
/* Creates the folder and writes order.json. */
int box_make(const struct process_host *host, const char *box, const struct sandbox_order *order,
             struct error *err) NONNULL MUST_CHECK;
/* Descriptor and pid of its first process; ERROR_NOT_FOUND if there is none (any more). */
int box_open(const struct process_host *host, const char *box, int *pidfd_out, pid_t *pid_out,
             struct error *err) NONNULL MUST_CHECK;
/* Records `pid` as the guardian in the status file. */
int box_note_guardian(int status_fd, pid_t pid, struct error *err) MUST_CHECK;
/* As box_open(). The guardian ends shortly after the first process, once it has written why. */
int box_open_guardian(const struct process_host *host, const char *box, int *pidfd_out,
                      pid_t *pid_out, struct error *err) NONNULL MUST_CHECK;
/* -1 if it has not ended, or its exit code is unknown. */
int box_exit_code(const struct process_host *host, const char *box) NONNULL MUST_CHECK;
bool box_is_paused(const struct process_host *host, const char *box, pid_t pid) NONNULL MUST_CHECK;
int box_list(const struct process_host *host, struct seen_list *list_out,
             struct error *err) NONNULL MUST_CHECK;
/* Sets why_out to the reason why it ended. */
void box_explain(const struct process_host *host, const char *box, struct error *why_out) NONNULL;

/* --- process_end.c --- */

/* Asks it to end, kills it after a timeout, removes its folder; success if it does not exist. */
int box_end(struct process_host *host, const char *box, struct error *err) NONNULL MUST_CHECK;
/* The same for all boxes of a runtime. */
int boxes_end(struct process_host *host, const char *runtime_id,
              struct error *err) NONNULL MUST_CHECK;
/* Removes a folder recursively. */
int process_remove_folder(const char *path, struct error *err) NONNULL MUST_CHECK;

/* --- process_home.c --- */

/* The host uid of that home's processes: one of its own if this service runs as root. */
uid_t home_uid(const char *home) NONNULL MUST_CHECK;
void home_append_path(const struct process_host *host, const char *home, const char *part,
                      struct strbuf *path) NONNULL;
/* Creates it, or its missing parts. */
int home_make(const struct process_host *host, const char *home,
              struct error *err) NONNULL MUST_CHECK;
int home_make_new(struct process_host *host, char home_out[BACKEND_NAME_BYTES],
                  struct error *err) NONNULL MUST_CHECK;
int home_remove(struct process_host *host, const char *home, struct error *err) NONNULL MUST_CHECK;
/* Removes homes that belong to no row. */
int homes_tidy(struct process_host *host, const struct kept_source *source,
               struct error *err) NONNULL MUST_CHECK;

/* --- process_prepare.c --- */

/* Names the fittings after a hash of their content; ERROR_NOT_FOUND without deft-action. */
int process_name_fittings(struct process_host *host, struct error *err) NONNULL MUST_CHECK;
/* Creates the folders and shared files, and checks that bubblewrap works. */
int process_prepare(struct process_host *host, struct error *err) NONNULL MUST_CHECK;
/* Appends the path of the folder mounted at ACTION_MOUNT, or of a file in it. */
void fittings_append_path(const struct process_host *host, const char *file,
                          struct strbuf *path) NONNULL;

/* --- process_start.c --- */

int process_start(struct process_host *host, const struct sandbox_order *order,
                  struct sandbox_place *place_out, struct error *err) NONNULL MUST_CHECK;
/* ERROR_UNSUPPORTED with a readable message for any image but the default. */
int process_check_image(const struct process_host *host, const char *image,
                        struct error *err) NONNULL MUST_CHECK;
/* Identifies the default image's files. */
const char *process_image_id(const struct process_host *host) NONNULL MUST_CHECK;

/* --- process_watch.c --- */

/* Follows a box from now on; takes ownership of the descriptor. */
void process_watch(struct process_host *host, const char *box, int pidfd, bool is_child) NONNULL;
void process_follow(struct process_host *host, const struct news_sink *sink) NONNULL;
void process_stop_following(struct process_host *host) NONNULL;

#endif
