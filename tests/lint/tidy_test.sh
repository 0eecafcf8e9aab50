#!/bin/sh
# tidy.sh gives the analyzer what changed, over headers too, what had findings, and each day another part.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

mkdir -p "$tree/tests/lint" "$tree/tests/unit" "$tree/lib/base" "$tree/build" "$tree/bin"
cp "$here/tidy.sh" "$here/changed.awk" "$tree/tests/lint/"
# One file of each part, so that one is due each day.
for letter in a b c d e f g h; do
    echo "int $letter;" >"$tree/lib/base/$letter.c"
done
echo '#include "base/deep.h"' >"$tree/lib/base/top.h"
echo 'int deep;' >"$tree/lib/base/deep.h"
echo '#include "base/top.h"' >"$tree/tests/unit/test.c"
cat >"$tree/bin/date" <<'DATE'
#!/bin/sh
echo "$DAY"
DATE
cat >"$tree/bin/tidy" <<'TIDY'
#!/bin/sh
# Notes what it would analyze; finds something in the file that FINDS_IN names.
case $* in
*-clang-analyzer-*) exit 0 ;;
esac
for file; do :; done
echo "${file##*/}" >>analyzed
[ "${file##*/}" != "${FINDS_IN-}" ] || { echo "$file: wrong"; exit 1; }
TIDY
chmod +x "$tree/bin/date" "$tree/bin/tidy"

# run DAY [OPTION]: the names of the analyzed files in one line; FOUND when tidy.sh fails.
run() {
    rm -f "$tree/build/analyzed"
    : >"$tree/build/analyzed"
    found=''
    (cd "$tree" && find lib tests/unit -name '*.[ch]') | (cd "$tree/build" && DAY=$1 PATH=$tree/bin:$PATH CLANG_TIDY=tidy LINT_JOBS=2 \
        ../tests/lint/tidy.sh ${2:+"$2"} -I. >said) || found=' FOUND'
    echo "$(LC_ALL=C sort "$tree/build/analyzed" | tr '\n' ' ')$found"
}

# expect WHAT EXPECTED ACTUAL
expect() {
    [ "$2" = "$3" ] && return
    echo "$1: expected '$2', not '$3'"
    exit 1
}

first=$(run 001)
days=$first
for day in 002 003 004 005 006 007 008; do
    days="$days$(run $day)"
done
expect 'each file is analyzed once in eight days' 'a.c b.c c.c d.c e.c f.c g.c h.c ' \
    "$(echo "$days" | tr ' ' '\n' | grep . | LC_ALL=C sort | tr '\n' ' ')"
expect 'the part comes again' "$first" "$(run 009)"

today=$(run 001)
other=b.c
[ "$today" != 'b.c ' ] || other=c.c
pair=$(printf '%s\n' "${today% }" "$other" | LC_ALL=C sort | tr '\n' ' ')
echo 'int changed;' >>"$tree/lib/base/$other"
expect 'a changed file is analyzed' "$pair" "$(run 001)"
expect 'once' "$today" "$(run 001)"
echo 'int again;' >>"$tree/lib/base/$other"
expect 'a finding fails' "$pair FOUND" "$(FINDS_IN=$other run 001)"
expect 'and stays due' "$pair FOUND" "$(FINDS_IN=$other run 001)"
expect 'until it is mended' "$pair" "$(run 001)"
echo '#include "base/top.h"' >>"$tree/lib/base/$other"
run 001 >/dev/null
echo 'int deeper;' >>"$tree/lib/base/deep.h"
expect 'what includes a changed header is analyzed' "$pair" "$(run 001)"
tomorrow=$(run 002)
expect 'a finding of the day fails' "$today FOUND" "$(FINDS_IN=${today% } run 001)"
expect 'and is looked at on the next day' "$(printf '%s\n' "${today% }" "${tomorrow% }" | LC_ALL=C sort | tr '\n' ' ')" "$(run 002)"
expect 'all is all' 'a.c b.c c.c d.c e.c f.c g.c h.c test.c ' "$(run 001 --all)"
