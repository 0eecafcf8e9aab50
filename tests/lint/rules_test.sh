#!/bin/sh
# layers.sh, words.sh, parsers.sh, names.sh, waits.sh and circles.sh find what they are for, and leave alone what
# only looks like it.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

mkdir -p "$tree/tests/lint" "$tree/lib/model" "$tree/worker"
cp "$here/layers.sh" "$here/words.sh" "$here/words.awk" "$here/parsers.sh" "$here/names.sh" "$here/waits.sh" \
    "$here/circles.sh" "$tree/tests/lint/"

cat >"$tree/lib/model/bad.c" <<'C'
#include "store/db/db.h"
#include "bad.h"
#include <curl/curl.h>
    static int counter = 0;
    static const char *name = "x";
    CLEANUP(mem_freep) char *a;
    strcpy(a, b);
    goto out;
    if (strcmp(a, b))
    if (!strcmp(a, b))
    return atoi(a) + json_pack("{}");
    printf("x");
    db("SELECT * FROM x");
    getenv("A");
    strbuf_appendf(&b, "{\"id\": \"%s\"}", id);
    /* TODO: later */
    int x = 0; /* NOLINT(foo) */
    return json_string(a);
C
cat >"$tree/lib/model/bad.h" <<'C'
#ifndef A
int bad(int a,
        struct error *err) NONNULL;
#endif
C
cat >"$tree/lib/model/good.h" <<'C'
/* Fine. */
int good(int a,
         struct error *err) NONNULL MUST_CHECK;
bool is_bad(const struct error *err);
/* Says why. Returns -1. */
int fine(struct error *err);
struct calls {
    int (*call)(struct error *err);
};
C
cat >"$tree/lib/model/good.c" <<'C'
#include "base/error.h"
/* strcpy(a, b) and goto in a comment, "don't care */
const char *text = "strcpy(a, b); goto x; 'quoted";
    static const char *const names[] = {"a"};
    static const struct place place = {NULL};
    CLEANUP(mem_freep)
    char *b =
        NULL;
    tokens->strtok(y);
    return json_string_value(a);
    if (strcmp(a, b) == 0)
        return;
    method("DELETE");
    /* TODO(#5): later */
    system("x"); /* NOLINT(words): a test of the excuse */
C
awk 'BEGIN { for (i = 0; i < 801; i++) print "" }' >"$tree/worker/long.c"

# A room that reaches up and one that reaches down, two modules in a circle, a folder with 31.
mkdir -p "$tree/lib/model/schema" "$tree/lib/model/start" "$tree/runtime/docker"
echo '#include "model/start/reaching_down.h"' >"$tree/lib/model/schema/reaching_up.c"
echo '#include "model/schema/good.h"' >"$tree/lib/model/start/reaching_down.c"
echo '#include "runtime/docker/good.h"' >"$tree/runtime/docker/good.c"
echo '#include "worker/second.h"' >"$tree/worker/first.c"
echo '#include "worker/first.h"' >"$tree/worker/second.c"
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31; do
    touch "$tree/runtime/docker/good_$n.c"
done

found=$tree/found
status=0
"$tree/tests/lint/layers.sh" >"$found" || status=$?
"$tree/tests/lint/words.sh" >>"$found" && status=0
n_failed=0
if [ "$status" -ne 1 ]; then
    echo "the scripts must end with 1"
    n_failed=1
fi

for place in bad.c:1 bad.c:2 bad.c:3 bad.c:4 bad.c:5 bad.c:6 bad.c:7 bad.c:8 bad.c:9 bad.c:10 \
    bad.c:11 bad.c:12 bad.c:13 bad.c:14 bad.c:15 bad.c:16 bad.c:17 bad.c:18 bad.h:1 bad.h:2 long.c:801 \
    reaching_up.c:1 first:1 second:1 docker:1; do
    if ! grep -q "/$place: " "$found"; then
        echo "not found: $place"
        n_failed=1
    fi
done

if grep '/good[.]\|/reaching_down[.]c' "$found"; then
    echo "found what is fine"
    n_failed=1
fi

# One parser is measured, one has a reason, one neither; one reason is for nothing; one target of the
# fuzzer reads what is not measured, is not played and has no corpus.
mkdir -p "$tree/tests/fuzz/corpus/model_good" "$tree/tests/unit/linear" "$tree/tests/unit/support" "$tree/sandbox"
for name in measured excused neither; do
    echo "/* (const char *bytes, size_t len) */ int $name(const char *bytes, size_t len);" >"$tree/lib/model/$name.h"
done
echo '/* (const char *bytes, size_t len) */ int a(const char *text);' >"$tree/lib/model/plain.h"
echo '#include "model/measured.h"' >"$tree/tests/unit/linear/linear_test.c"
touch "$tree/tests/unit/support/raw_request.c"
printf '# a head\nmodel/excused.h why\nmodel/plain.h why\n' >"$tree/tests/lint/parsers.txt"
printf '#include "base/json.h"\n#include "model/measured.h"\n' >"$tree/tests/fuzz/model_good.c"
echo 'replay-model_good' >"$tree/tests/fuzz/local.mk"
echo '#include "model/fuzzed.h"' >"$tree/tests/fuzz/model_bad.c"
"$tree/tests/lint/parsers.sh" >"$found" && n_failed=1
cat >"$tree/expected" <<'T'
tests/fuzz/model_bad.c: no corpus
tests/fuzz/model_bad.c: not played by make check
model/neither.h: no row in tests/unit/linear, no reason in tests/lint/parsers.txt
model/fuzzed.h: no row in tests/unit/linear, no reason in tests/lint/parsers.txt
tests/lint/parsers.txt: model/plain.h needs no reason
T
if ! diff "$tree/expected" "$found"; then
    echo "parsers.sh says something else"
    n_failed=1
fi

# Types and stems that are there twice, stems and a type that say nothing; each with and without a reason; two lines of
# names.txt that excuse nothing, or give no reason.
rm -r "${tree:?}/lib" "$tree/worker" "$tree/runtime" "$tree/sandbox"
mkdir -p "$tree/lib/model" "$tree/worker" "$tree/gateway"
printf 'struct twice {\nstruct excused {\nstruct declared;\nenum kind_of_it {\n' >"$tree/lib/model/goal.h"
printf 'static const struct twice {\n    struct excused {\nstruct declared;\n/* enum kind_of_it { */\n' \
    >"$tree/worker/goal.c"
printf 'typedef enum kind_of_it\n{\nenum kind_of_it {\nstruct egress_seat {\nstruct car_seat {\n' >"$tree/worker/goal_door.h"
for path in worker/once.c worker/once.h gateway/once.h gateway/side_door.c gateway/side.c gateway/sides.c lib/model/util.c; do
    echo 'struct declared;' >"$tree/$path"
done
cat >"$tree/tests/lint/names.txt" <<'T'
# a head
tag  excused           another layer
metaphor car_seat      cars have seats
stem goal              another layer
stem nowhere           nothing
word lib/model/util    a reason
word gateway/side_door # none
T
"$tree/tests/lint/names.sh" >"$found" && n_failed=1
cat >"$tree/expected" <<'T'
tests/lint/names.txt: word gateway/side_door has no reason
gateway/side: "side" does not say what is in the file
worker/goal.c:1: twice is also defined at lib/model/goal.h:1
worker/goal_door: "door" does not say what is in the file
worker/goal_door.h:3: kind_of_it is also defined at lib/model/goal.h:4
worker/goal_door.h:4: "seat" does not say what egress_seat is
worker/once: the stem is also that of gateway/once
tests/lint/names.txt: stem nowhere needs no reason
T
if ! diff "$tree/expected" "$found"; then
    echo "names.sh says something else"
    n_failed=1
fi

# Two waits are too long; the others are short, have a reason, or are deadlines.
mkdir -p "$tree/tests/e2e"
cat >"$tree/tests/e2e/waits.test.mjs" <<'T'
  await pause(1500);
  await new Promise((resolve) => setTimeout(resolve, 20_000));
  await pause(1000); await new Promise((resolve) => setTimeout(resolve, 1_000));
  await sleep(2000); // fixed wait: the kernel says nothing when it is over
  const timer = setTimeout(() => reject(new Error('late')), 60_000);
  await pause(LOOK_AGAIN_MS);
T
"$tree/tests/lint/waits.sh" >"$found" && n_failed=1
if ! [ "$(cut -d: -f2 "$found" | tr '\n' ' ')" = '1 2 ' ]; then
    echo "waits.sh finds something else"
    cat "$found"
    n_failed=1
fi

# Two modules call each other; two others meet through a function that is passed; two know each other only in an
# object whose source has gone.
mkdir -p "$tree/build/worker"
write_module() {
    printf '%s\n' "$2" >"$tree/worker/$1.c"
    cc -w -c -o "$tree/build/worker/deft_worker-$1.o" "$tree/worker/$1.c"
}
write_module caller 'void second(void); void first(void) { second(); }'
write_module callee 'void first(void); void second(void) { first(); }'
write_module passing 'void take(void (*done)(void)); void told(void) {} void pass(void) { take(told); }'
write_module taking 'void take(void (*done)(void)) { done(); }'
write_module old 'void still(void); void was(void) { still(); }'
write_module kept 'void was(void); void still(void) { was(); }'
rm "$tree/worker/old.c"
"$tree/tests/lint/circles.sh" "$tree/build" >"$found" && n_failed=1
if ! [ "$(tr '\n' ' ' <"$found")" = \
    'worker/callee.c:1: in a circle of calls worker/caller.c:1: in a circle of calls ' ]; then
    echo "circles.sh finds something else"
    cat "$found"
    n_failed=1
fi
write_module callee 'void second(void) {}'
if ! "$tree/tests/lint/circles.sh" "$tree/build"; then
    echo "circles.sh finds a circle where there is none"
    n_failed=1
fi
exit "$n_failed"
