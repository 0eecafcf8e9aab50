#!/bin/sh
# Words and forms that STYLE.md does not want. Prints file:line of each; exit 1 when there is one.
set -eu

cd "$(dirname "$0")/../.."
folders=''
for folder in lib fcgi gateway worker runtime sandbox tests; do
    if [ -d "$folder" ]; then
        folders="$folders $folder"
    fi
done

# shellcheck disable=SC2086 # a list of our own folder names
find $folders -name '*.[ch]' -not -path '*/node_modules/*' | LC_ALL=C sort |
    xargs awk -f tests/lint/words.awk || exit 1
