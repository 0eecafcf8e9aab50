#!/bin/sh
# Every parser of outside text has a row in tests/unit/linear: each header with a function that takes
# bytes and their number, or text to be parsed, and each module that a fuzz target includes, is
# included there, too, or listed in parsers.txt with the reason. Each fuzz target has a corpus that
# `make check` plays. Prints what is missing; exit 1 when there is something.
set -eu

cd "$(dirname "$0")/../.."
n_missing=0
seen=$(mktemp -d)
trap 'rm -rf "$seen"' EXIT

complain() {
    echo "$1"
    n_missing=$((n_missing + 1))
}

# Names of our headers that C files include, without those of the tests.
includes() {
    sed -n 's/^#include "\([a-z0-9_/]*\.h\)"$/\1/p' "$@" | grep / | LC_ALL=C sort -u
}

includes tests/unit/linear/*.c tests/unit/support/raw_request.c >"$seen/measured"
sed 's/#.*//; s/[ \t].*//; /^$/d' tests/lint/parsers.txt | LC_ALL=C sort -u >"$seen/excused"

headers=''
for folder in lib fcgi gateway worker runtime sandbox; do
    if [ -d "$folder" ]; then
        headers="$headers $(find "$folder" -name '*.h')"
    fi
done

# shellcheck disable=SC2086 # a list of our own file names
awk '
    function check(    text, begin, end, rest) {
        text = whole
        while ((begin = index(text, "/*")) > 0) {
            rest = substr(text, begin + 2)
            end = index(rest, "*/")
            text = substr(text, 1, begin - 1) " " substr(rest, end + 2)
        }
        gsub(/[ \t]+/, " ", text)
        if (text ~ /\([^()]*const (unsigned )?(char|void) \*[a-z_]+, size_t [a-z_]+/ ||
            text ~ /[a-z0-9]_(parse|read|feed|decode|split)(_[a-z_]+)?\([^()]*const char \*/)
            print file
    }
    FNR == 1 && file != "" { check() }
    FNR == 1 { file = FILENAME; sub(/^lib\//, "", file); whole = "" }
    { whole = whole " " $0 }
    END { check() }
' $headers | LC_ALL=C sort -u >"$seen/parsers"

for target in tests/fuzz/*_*.c; do
    name=$(basename "$target" .c)
    includes "$target" | grep -vE '^(base|unit)/' >>"$seen/parsers" || true
    if [ ! -d "tests/fuzz/corpus/$name" ]; then
        complain "$target: no corpus"
    fi
    if ! grep -rqs --include='*.mk' "replay-$name" sandbox tests; then
        complain "$target: not played by make check"
    fi
done

while read -r header; do
    if ! grep -qxF "$header" "$seen/measured" "$seen/excused"; then
        complain "$header: no row in tests/unit/linear, no reason in tests/lint/parsers.txt"
    fi
done <"$seen/parsers"

while read -r header; do
    if grep -qxF "$header" "$seen/measured" || ! grep -qxF "$header" "$seen/parsers"; then
        complain "tests/lint/parsers.txt: $header needs no reason"
    fi
done <"$seen/excused"

[ "$n_missing" -eq 0 ]
