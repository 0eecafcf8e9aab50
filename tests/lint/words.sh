#!/bin/sh
# Words and forms that are not used here. Prints file:line of each; exit 1 when there is one.
set -eu

cd "$(dirname "$0")/../.."
folders=''
for folder in lib fcgi gateway worker runtime sandbox relay launcher tests; do
    if [ -d "$folder" ]; then
        folders="$folders $folder"
    fi
done

# What tests/tasks gives to agents has faults on purpose.
# shellcheck disable=SC2086 # a list of our own folder names
find $folders -name '*.[ch]' -not -path '*/node_modules/*' -not -path 'tests/tasks/*' | LC_ALL=C sort |
    xargs awk -f tests/lint/words.awk || exit 1

# Debian 13 has the engine without the command: tests ask the engine itself (engine() of tests/e2e/runtime_house.mjs).
if grep -rnE --include='*.mjs' --exclude-dir=node_modules "\\('docker'," tests; then
    exit 1
fi
