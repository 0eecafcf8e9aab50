#!/bin/sh
# Runs clang-tidy on C files. Reads the names of all sources, headers too, from its standard input; is started in the
# folder of a build.
#
#   tests/lint/tidy.sh [--all] FLAGS_OF_THE_COMPILER...
#
# Every file gets all checks but the analyzer, which takes six sevenths of the time. It follows paths only through
# the files that changed since it last found nothing in them, and an eighth of the others, another one each day; never
# through tests. --all analyzes everything, tests too.
# The state is in the build's folder: tidy.sums has the sums of the files, as they were at the last run that ended,
# without those in which it found something.
# Settings: CLANG_TIDY, LINT_JOBS.
# Decision: docs/decisions/0079-analyzer-on-what-changed.md
set -eu

PARTS=8
# More files that changed wait for the next runs: a header of lib/base is in most of them.
CHANGED_MAX=100
# The checks but the analyzer take less time than a start of clang-tidy.
FILES_PER_START=8

mode=some
if [ "$1" = --all ]; then
    mode=all
    shift
fi
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/deft-tidy.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
: >>tidy.sums
# Another run may read it.
printf '%s\n' "$@" >"$dir/flags"
mv "$dir/flags" compile_flags.txt

LC_ALL=C sort >"$dir/sources"
grep '\.c$' "$dir/sources" >"$dir/files"
grep -v '^tests/' "$dir/files" >"$dir/shipped"
(cd "$top" && xargs sha256sum <"$dir/sources") >"$dir/sums"

# The part of a file follows from its name: other files that come or go do not move it.
files_of_today() {
    day=$(date +%j)
    awk -v day="${day#"${day%%[!0]*}"}" -v parts=$PARTS '
        BEGIN { for (i = 1; i < 128; i++) code[sprintf("%c", i)] = i }
        { sum = 0; for (i = 1; i <= length($0); i++) sum += code[substr($0, i, 1)]; if (sum % parts == day % parts) print }'
}

if [ $mode = all ]; then
    cp "$dir/files" "$dir/analyzed"
else
    (cd "$top" && xargs grep -HE '^#include "' <"$dir/sources") >"$dir/includes"
    awk -f "$here/changed.awk" tidy.sums "$dir/sums" "$dir/includes" | LC_ALL=C sort >"$dir/differ"
    LC_ALL=C comm -12 "$dir/differ" "$dir/shipped" >"$dir/changed"
    head -n $CHANGED_MAX "$dir/changed" >"$dir/changed.now"
    files_of_today <"$dir/shipped" | LC_ALL=C sort -u - "$dir/changed.now" >"$dir/analyzed"
fi
LC_ALL=C comm -23 "$dir/files" "$dir/analyzed" >"$dir/others"
echo "clang-tidy: $(wc -l <"$dir/files") files, $(wc -l <"$dir/analyzed") of them with the analyzer"

status=0
sed "s|^|$top/|" "$dir/others" | xargs -P "$LINT_JOBS" -n $FILES_PER_START \
    "$CLANG_TIDY" --quiet -p . --checks='-clang-analyzer-*' 2>/dev/null || status=1
# shellcheck disable=SC2016 # the inner shell's
xargs -P "$LINT_JOBS" -I '{}' sh -c '"$1" --quiet -p . "$2/$4" 2>/dev/null || echo "$4" >>"$3/failed"' \
    sh "$CLANG_TIDY" "$top" "$dir" '{}' <"$dir/analyzed"
[ ! -s "$dir/failed" ] || status=1

# Files with findings are analyzed again next time, and so are changed files that were left out.
: >>"$dir/failed"
[ $mode = all ] || LC_ALL=C comm -23 "$dir/changed" "$dir/analyzed" >>"$dir/failed"
awk 'FILENAME == ARGV[1] { due[$1] = 1; next } !($2 in due)' "$dir/failed" "$dir/sums" >"$dir/sums.new"
mv "$dir/sums.new" tidy.sums
exit $status
