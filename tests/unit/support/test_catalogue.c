#include "support/test_catalogue.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text_folder.h"
#include "model/catalogue/catalogue.h"

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): read once per program */
static struct catalogue *kept;

struct catalogue *test_catalogue(void)
{
    CLEANUP(text_folder_done) struct text_folder folder = TEXT_FOLDER_INIT;
    struct error err = ERROR_INIT;

    if (kept != NULL)
        return kept;
    if (text_folder_read(TEST_CATALOGUE_DIR, "", &folder, &err) < 0 ||
        catalogue_new(&folder, &kept, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.message);
        abort();
    }
    return kept;
}
