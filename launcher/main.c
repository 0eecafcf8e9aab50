/*
 * deft-launch [FOLDER...] -- PROGRAM [ARGUMENT...]: becomes the program, which gains no privilege,
 * makes no system call that it has no need for, writes below the folders only, and starts no other
 * program. For those that deft runs and did not write; its own confine themselves.
 */
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/error.h"
#include "base/text.h"

enum { FOLDERS_MAX = 8 };

static int complain(const char *what)
{
    (void)fprintf(stderr, "deft-launch: %s\n", what);
    return EX_USAGE;
}

int main(int argc, char **argv)
{
    const char *folders[FOLDERS_MAX + 1] = {NULL};
    struct error err = ERROR_INIT;
    int at = 1;

    for (; at < argc && !text_equal(argv[at], "--"); at++) {
        if (at > FOLDERS_MAX)
            return complain("too many folders");
        folders[at - 1] = argv[at];
    }
    if (at + 1 >= argc || argv[at + 1][0] != '/')
        return complain("usage: deft-launch [FOLDER...] -- /PATH/OF/PROGRAM [ARGUMENT...]");
    if (confine_program(argv[at + 1], folders, &err) < 0) {
        (void)complain(err.message);
        return EX_OSERR;
    }
    (void)execv(argv[at + 1], argv + at + 1);
    (void)fprintf(stderr, "deft-launch: %s: %m\n", argv[at + 1]);
    return EX_UNAVAILABLE;
}
