#include "sandbox/checkpoint/left_out.h"

#include <stddef.h>

#include "base/text.h"

/* Often larger than all the rest. */
static const char *const rebuilt[] = {
    "node_modules", ".venv", "venv",   "__pycache__", ".pytest_cache", ".mypy_cache",
    ".ruff_cache",  ".tox",  ".cache", ".npm",        ".gradle",
};

bool left_out(const char *name, bool is_folder)
{
    if (text_equal(name, ".git") || text_equal(name, FRESH_FILE_NAME))
        return true;
    for (size_t i = 0; is_folder && i < ARRAY_SIZE(rebuilt); i++) {
        if (text_equal(name, rebuilt[i]))
            return true;
    }
    return false;
}
