/*
 * The process back end's inside, shared by its files.
 *
 * A box is one sandbox as it was started once; its id is the runtime's, and a part of its own. Its
 * folder holds order.json (what it was started as), status (bubblewrap's own process, its guardian,
 * which is written before it begins; then what bubblewrap says: the sandbox's first process, at
 * last its exit code) and said (what it printed). Its folder is there before anything of it runs,
 * and goes when nothing of it is left.
 *
 * Threading: settings and names are read-only after the first preparation; the rest stands under
 * the lock.
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

/* One that is followed. */
struct watched {
    char box[BOX_ID_BYTES];
    int pidfd;
    bool is_child; /* its end is ours to collect */
};

struct process_host {
    struct backend backend; /* first */
    struct process_settings settings;
    struct spares *spares; /* homes that are in no row yet */
    char fittings[FITTINGS_BYTES];
    struct groups groups;
    int wake_fd;
    struct lock lock;   /* guards all below */
    struct error state; /* ERROR_NONE: bubblewrap can make sandboxes here */
    struct watched *watched;
    size_t n_watched;
    bool is_stopping;
};

/* --- process_box.c --- */

/* Appends the path of a box's file; of its folder when the file is "". */
void box_append_path(const struct process_host *host, const char *box, const char *file,
                     struct strbuf *path) NONNULL;
/* Makes the folder and writes what it is started as. */
int box_make(const struct process_host *host, const char *box, const struct sandbox_order *order,
             struct error *err) NONNULL MUST_CHECK;
/* Descriptor and number of its first process; ERROR_NOT_FOUND when it is not there (any more). */
int box_open(const struct process_host *host, const char *box, int *pidfd_out, pid_t *pid_out,
             struct error *err) NONNULL MUST_CHECK;
/* Notes in a line of its status that this process is its guardian. */
int box_note_guardian(int status_fd, pid_t pid, struct error *err) MUST_CHECK;
/* As box_open(). The guardian ends a moment after the first process, when it has written why. */
int box_open_guardian(const struct process_host *host, const char *box, int *pidfd_out,
                      pid_t *pid_out, struct error *err) NONNULL MUST_CHECK;
/* -1 while it has not ended, or when nobody could say. */
int box_exit_code(const struct process_host *host, const char *box) NONNULL MUST_CHECK;
bool box_is_paused(const struct process_host *host, const char *box, pid_t pid) NONNULL MUST_CHECK;
int box_list(const struct process_host *host, struct seen_list *list_out,
             struct error *err) NONNULL MUST_CHECK;
/* Why it ended, in words. */
void box_explain(const struct process_host *host, const char *box, struct error *why_out) NONNULL;

/* --- process_end.c --- */

/* Asks it to end, ends it after a while, and removes its folder; a missing one is success. */
int box_end(struct process_host *host, const char *box, struct error *err) NONNULL MUST_CHECK;
/* The same for all of a runtime. */
int boxes_end(struct process_host *host, const char *runtime_id,
              struct error *err) NONNULL MUST_CHECK;
/* Removes a folder and all below it. */
int process_remove_folder(const char *path, struct error *err) NONNULL MUST_CHECK;

/* --- process_home.c --- */

/* The host's user for what runs on that home: one of its own where this service may choose. */
uid_t home_uid(const char *home) NONNULL MUST_CHECK;
void home_append_path(const struct process_host *host, const char *home, const char *part,
                      struct strbuf *path) NONNULL;
/* Makes it, or what is missing of it. */
int home_make(const struct process_host *host, const char *home,
              struct error *err) NONNULL MUST_CHECK;
int home_make_new(struct process_host *host, char home_out[BACKEND_NAME_BYTES],
                  struct error *err) NONNULL MUST_CHECK;
int home_remove(struct process_host *host, const char *home, struct error *err) NONNULL MUST_CHECK;
/* Removes homes that nobody answers for. */
int homes_tidy(struct process_host *host, const struct kept_source *source,
               struct error *err) NONNULL MUST_CHECK;

/* --- process_prepare.c --- */

/* Names what a start puts into a sandbox after what it is; ERROR_NOT_FOUND without deft-action. */
int process_name_fittings(struct process_host *host, struct error *err) NONNULL MUST_CHECK;
/* Makes the folders and what all sandboxes share, and tries whether bubblewrap works. */
int process_prepare(struct process_host *host, struct error *err) NONNULL MUST_CHECK;
/* Appends the path of what all sandboxes see at ACTION_MOUNT, or of a file in it. */
void fittings_append_path(const struct process_host *host, const char *file,
                          struct strbuf *path) NONNULL;

/* --- process_start.c --- */

int process_start(struct process_host *host, const struct sandbox_order *order,
                  struct sandbox_place *place_out, struct error *err) NONNULL MUST_CHECK;
/* ERROR_UNSUPPORTED in words for any image but the default. */
int process_check_image(const struct process_host *host, const char *image,
                        struct error *err) NONNULL MUST_CHECK;
/* What the image's name stands for. */
const char *process_image_id(const struct process_host *host) NONNULL MUST_CHECK;

/* --- process_watch.c --- */

/* Follows a box from now on; takes the descriptor over. */
void process_watch(struct process_host *host, const char *box, int pidfd, bool is_child) NONNULL;
void process_follow(struct process_host *host, const struct news_sink *sink) NONNULL;
void process_stop_following(struct process_host *host) NONNULL;

#endif
