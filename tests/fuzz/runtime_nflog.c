/*
 * Packets that the kernel shows: what is told has one of our reasons, however the bytes lie.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "runtime/egress/nflog.h"
#include "runtime/egress/tally.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

static void hear(void *context, const struct refused_packet *packet)
{
    struct tally *tally = context;

    assert(packet->reason < REFUSED_N_REASONS);
    assert(refusal_reason_to_string(packet->reason)[0] != '\0');
    tally_note(tally, packet, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    CLEANUP(tally_done) struct tally tally = TALLY_INIT;

    nflog_parse(bytes, len, hear, &tally);
    return 0;
}
