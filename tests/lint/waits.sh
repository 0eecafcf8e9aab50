#!/bin/sh
# Tests wait for events. A fixed wait of more than a second says why in the same line, `fixed wait: REASON`.
# Prints file:line of each that does not; exit 1 when there is one.
set -eu

cd "$(dirname "$0")/../.."
found=$({
    grep -rnE --include='*.mjs' --exclude-dir=node_modules \
        'setTimeout\([a-z]+, [0-9_]{4,}\)|await (pause|sleep|delay)\([0-9_]{4,}\)' tests | grep -vE '[ (]1_?000\)'
    grep -rnE --include='*.[ch]' '\b(sleep\(([2-9]|[0-9]{2,})\)|usleep\([0-9]{7,}\))' tests
} | grep -v 'fixed wait: [a-z]') || exit 0
printf '%s\n' "$found"
exit 1
