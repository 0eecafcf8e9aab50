#include <stdio.h>
#include <stdlib.h>

#include "area.h"
#include "version.h"

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    printf("%d (%s)\n", area(atoi(argv[1]), atoi(argv[2])), VERSION);
    return 0;
}
