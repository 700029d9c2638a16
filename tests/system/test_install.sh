#!/bin/sh
# The installed library serves programs through pkg-config, shared and static; README's compile as printed.
# Arguments: the top folder, the build folder, the C compiler.
. "$(dirname "$0")/report.sh"
top=$1 build=$2 cc=$3
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT

expect_success "meson installs the library" meson install -C "$build" --no-rebuild --quiet --destdir "$work/root"
pc=$(find "$work/root" -name couplet.pc)
if [ -z "$pc" ] || ! command -v pkg-config >/dev/null; then
    skip "programs compile through pkg-config" "there is no couplet.pc or no pkg-config"
    finish
fi
libdir=$(dirname "$(dirname "$pc")")
prefix=$work/root$(sed -n 's/^prefix=//p' "$pc")

about() { # pkg-config's options
    PKG_CONFIG_PATH=$(dirname "$pc") pkg-config "--define-variable=prefix=$prefix" "$@" couplet
}

compile_and_run() { # program.c, pkg-config's and the compiler's options
    # shellcheck disable=SC2046,SC2086 # flags are words
    "$cc" -Wall -Wextra -Werror ${3:-} "$1" -o "${1%.c}" $(about --cflags --libs ${2:-}) &&
        LD_LIBRARY_PATH=$libdir "${1%.c}" </dev/null
}

cat >"$work/version.c" <<'C'
#include <couplet.h>
int main(void) {
    cp_arena *arena = cp_arena_new();
    int       bad   = arena == NULL || printf("%s %s\n", CP_VERSION, CP_REAL_NAME) < 0;
    cp_arena_free(arena);
    return bad;
}
C
expect_success "a program uses the shared library through pkg-config" compile_and_run "$work/version.c"
expect_success "a program uses the static library through pkg-config" compile_and_run "$work/version.c" --static -static

# A program for the other precision must not run on this library: numbers would be garbage without a word.
double=$(sed -n 's/^#define CP_DOUBLE \([01]\).*/\1/p' "$build/couplet_config.h")
cat >"$work/other.c" <<'C'
#include <couplet.h>
int main(void) {
    return 0;
}
C
cat >"$work/stub.c" <<'C'
#include <couplet.h>
const char cp_built_for[] = "the other precision";
C
refused() { # words; passes when the command fails over the name
    ! said=$("$@" 2>&1) && echo "$said" | grep 'undefined.*cp_built_for'
}
# The stub stands for the other library, with which the program was linked.
# shellcheck disable=SC2046 # flags are words
link_other() {
    "$cc" -DCP_DOUBLE=$((1 - double)) "$work/other.c" -o "$work/other" $(about --cflags) "$@"
}
# shellcheck disable=SC2046 # flags are words
expect_success "a program for the other precision does not link" refused link_other $(about --libs)
# shellcheck disable=SC2046 # flags are words
expect_success "the other library is made" "$cc" -DCP_DOUBLE=$((1 - double)) -shared -fPIC "$work/stub.c" \
    -o "$work/libother.so" "-Wl,-soname,$(basename "$libdir"/libcouplet.so.?)" $(about --cflags)
expect_success "with that it links" link_other "$work/libother.so"
expect_success "but does not start with this one" refused env "LD_LIBRARY_PATH=$libdir" "$work/other"
expect_success "a program for this precision does" compile_and_run "$work/other.c"

if command -v c++ >/dev/null; then
    # shellcheck disable=SC2046 # flags are words
    said=$(echo '#include <couplet.h>' | c++ -x c++ -E $(about --cflags) - 2>&1 >/dev/null)
    expect_success "C++ is told that the header is C" sh -c 'case $1 in *"not C++"*) ;; *) exit 1 ;; esac' sh "$said"
fi

# A program is the C block after a line such as <!-- program: fit lines<=40 -->; the limit may be left out.
programs=$(sed -n 's/^<!-- program: *\([a-z_]*\).*-->$/\1/p' "$top/README.md")
[ -n "$programs" ] || not_ok "README.md shows a program" "no line <!-- program: name lines<=40 -->"
for name in $programs; do
    mark="^<!-- program: *${name}[ -]"
    awk -v mark="$mark" '
        $0 ~ mark { found = 1 }
        inside && /^```/ { exit }
        inside { print }
        found && /^```c/ { inside = 1 }' "$top/README.md" >"$work/$name.c"
    limit=$(sed -n "/$mark/s/.*lines<=\\([0-9]*\\).*/\\1/p" "$top/README.md")
    lines=$(($(wc -l <"$work/$name.c")))
    expect_success "README's program $name compiles as printed and runs" compile_and_run "$work/$name.c"
    if [ -n "$limit" ]; then
        expect_success "README's program $name has at most $limit lines (it has $lines)" \
            test "$lines" -gt 0 -a "$lines" -le "$limit"
    fi
done
finish
