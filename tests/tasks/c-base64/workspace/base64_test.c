#include "base64.h"

#include <stdio.h>
#include <string.h>

static int n_failed;

static void expect(const char *text, const char *bytes)
{
    unsigned char out[64] = {0};
    long n = decode(text, out, sizeof(out));

    if (bytes == NULL ? n == -1 : n == (long)strlen(bytes) && memcmp(out, bytes, (size_t)n) == 0)
        return;
    printf("decode(\"%s\") gives %ld\n", text, n);
    n_failed++;
}

int main(void)
{
    expect("", "");
    expect("Zm9vYmFy", "foobar");
    expect("Zg==", "f");
    expect("Zm8=", "fo");
    expect("Zm9vYg==", "foob");
    expect("Zm9", NULL);
    expect("Zm9*", NULL);
    printf("%d failed\n", n_failed);
    return n_failed != 0;
}
