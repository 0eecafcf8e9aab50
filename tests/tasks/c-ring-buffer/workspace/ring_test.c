#include "ring.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void what_goes_in_comes_out(void)
{
    struct ring ring = {0};
    char out[RING_SIZE] = "";

    assert(ring_put(&ring, "abc", 3) == 3);
    assert(ring_take(&ring, out, sizeof(out)) == 3);
    assert(memcmp(out, "abc", 3) == 0);
}

static void order_is_kept_across_the_end(void)
{
    struct ring ring = {0};
    char out[RING_SIZE] = "";

    assert(ring_put(&ring, "abcdef", 6) == 6);
    assert(ring_take(&ring, out, 6) == 6);
    assert(ring_put(&ring, "123456", 6) == 6);
    assert(ring_take(&ring, out, 6) == 6);
    assert(memcmp(out, "123456", 6) == 0);
}

int main(void)
{
    what_goes_in_comes_out();
    order_is_kept_across_the_end();
    puts("ok");
    return 0;
}
