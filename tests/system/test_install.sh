#!/bin/sh
# Programs use the installed library through pkg-config, shared and static; README's programs compile as printed.
# Arguments: the top folder, the build folder, the C compiler.
# shellcheck disable=SC2154 # installed.sh sets what is used here
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/installed.sh"

compile_and_run() { # program.c, more of the compiler's words
    compile_as_told couplet "${1%.c}" "$@" && "${1%.c}" </dev/null
}

cat >"$work/version.c" <<'C'
#include <couplet.h>
int main(void) {
    cp_tape *tape = cp_tape_new();
    int      bad  = tape == NULL || printf("%s %s\n", CP_VERSION, CP_REAL_NAME) < 0;
    cp_tape_free(tape);
    return bad;
}
C
expect_success "a program uses the shared library through pkg-config" compile_and_run "$work/version.c"
# shellcheck disable=SC2046 # flags are words
expect_success "a program uses the static library through pkg-config" "$cc" -static "$work/version.c" -o "$work/version" \
    $(pkg-config --static --cflags --libs couplet)
expect_success "it runs" "$work/version"
expect_success "the modules for PyTorch are installed" cmp "$top/models/couplet_torch.py" "$(find "$work/root" -name couplet_torch.py)"

# A program for the other precision must not run with this library: its numbers would silently be garbage.
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
# The stub stands in for the other library, with which the program was linked.
# shellcheck disable=SC2046 # flags are words
link_other() {
    "$cc" -DCP_DOUBLE=$((1 - double)) "$work/other.c" -o "$work/other" $(pkg-config --cflags couplet) "$@"
}
# shellcheck disable=SC2046 # flags are words
expect_success "a program for the other precision does not link" refused link_other $(pkg-config --libs couplet)
# shellcheck disable=SC2046 # flags are words
expect_success "the other library is made" "$cc" -DCP_DOUBLE=$((1 - double)) -shared -fPIC "$work/stub.c" \
    -o "$work/libother.so" "-Wl,-soname,$(basename "$libdir"/libcouplet.so.?)" $(pkg-config --cflags couplet)
expect_success "the program links with that library" link_other "$work/libother.so"
expect_success "the program does not start with this library" refused env "LD_LIBRARY_PATH=$libdir" "$work/other"
expect_success "a program for this precision starts" compile_and_run "$work/other.c"

if command -v c++ >/dev/null; then
    # shellcheck disable=SC2046 # flags are words
    said=$(echo '#include <couplet.h>' | c++ -x c++ -E $(pkg-config --cflags couplet) - 2>&1 >/dev/null)
    expect_success "a C++ compiler reports that the header is C" sh -c 'case $1 in *"not C++"*) ;; *) exit 1 ;; esac' sh "$said"
fi

programs=$(programs_of "$top/README.md")
[ -n "$programs" ] || not_ok "README.md shows a program" "no line <!-- program: name lines<=40 -->"
for name in $programs; do
    extract_short "$top/README.md" "$name"
    expect_success "README's program $name compiles as printed and runs" compile_and_run "$work/$name.c"
done
finish
