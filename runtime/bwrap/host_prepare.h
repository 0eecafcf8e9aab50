/*
 * Prepares the host: folders, the files that all sandboxes share, and a trial of bubblewrap.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_BWRAP_HOST_PREPARE_H
#define DEFT_RUNTIME_BWRAP_HOST_PREPARE_H

#include "base/attr.h"

struct bwrap_host;
struct error;
struct strbuf;

/* Names the build of deft-action after a hash of its files; ERROR_NOT_FOUND without deft-action. */
int host_name_agent_build(struct bwrap_host *host, struct error *err) NONNULL MUST_CHECK;
/* Creates the folders and shared files, and checks that bubblewrap works. */
int host_prepare(struct bwrap_host *host, struct error *err) NONNULL MUST_CHECK;
/* Appends the path of the folder mounted at ACTION_MOUNT, or of a file in it. */
void agent_folder_append_path(const struct bwrap_host *host, const char *file,
                              struct strbuf *path) NONNULL;

#endif
