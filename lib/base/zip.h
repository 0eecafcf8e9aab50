/*
 * Writes a zip archive as a stream: files are added whole, one after the other, and stored
 * uncompressed. Memory: about 60 bytes plus the name for each file.
 *
 * Source: PKWARE APPNOTE 6.3, with the zip64 forms where counts or offsets need them.
 * Decision: docs/decisions/0070-archives-and-checksums.md
 */
#ifndef DEFT_BASE_ZIP_H
#define DEFT_BASE_ZIP_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct error;

/* The output of an archive. */
struct zip_sink {
    void *state;
    int (*write)(void *state, const char *bytes, size_t len, struct error *err);
};

struct zip {
    struct zip_sink sink;
    struct strbuf directory;
    uint64_t n_files;
    uint64_t at; /* bytes written */
};

/* clang-format off */
#define ZIP_INIT(state, write) {{(state), (write)}, STRBUF_INIT, 0, 0}
/* clang-format on */

void zip_done(struct zip *zip);
/* Adds a file of less than 4 GiB. ERROR_TOO_LARGE, and the sink's errors. */
int zip_add(struct zip *zip, const char *name, const char *bytes, size_t len,
            struct error *err) NONNULL MUST_CHECK;
/* Writes the directory; the archive is complete then. */
int zip_finish(struct zip *zip, struct error *err) NONNULL MUST_CHECK;

#endif
