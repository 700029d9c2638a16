#!/bin/sh
# Couplet as a subproject of another meson project, in the precision that project asks for, and as a user configures it.
# Argument: the top folder.
. "$(dirname "$0")/report.sh"
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
mkdir "$work/subprojects" && ln -s "$1" "$work/subprojects/couplet"

cat >"$work/meson.build" <<'MESON'
project('parent', 'c', default_options: ['optimization=0', 'warning_level=3', 'werror=true'])
couplet = dependency('couplet', fallback: 'couplet', default_options: ['precision=double'])
test('uses couplet', executable('user', 'user.c', dependencies: couplet))
MESON
cat >"$work/user.c" <<'C'
#include <couplet.h>
int main(void) {
    cp_tape *tape = cp_tape_new();
    int      bad  = tape == NULL || sizeof(cp_real) != sizeof(double);
    cp_tape_free(tape);
    return bad;
}
C
# Its program is built without optimization behind what meson asks for, since nothing is computed with it.
expect_success "a project with Couplet as a subproject is configured" \
    meson setup -Dc_args=-O0 -Ddebug=false --wrap-mode=forcefallback "$work/build" "$work"
expect_success "its program builds" meson compile -C "$work/build" user
unset LD_LIBRARY_PATH # meson names the library under test there, which has the other precision
expect_success "it runs" "$work/build/user"
commands=$work/build/compile_commands.json
expect_success "Couplet is optimized though its parent is not" \
    sh -c "grep '\"command\".*-c.*core/tape.c' '$commands' | grep -q -e -O3"
expect_empty "all its files are optimized" "$(grep '"command"' "$commands" | grep subprojects/couplet/ | grep -v -e -O3)"
expect_empty "its parent is not optimized" "$(grep '"command"' "$commands" | grep 'user\.c' | grep -e -O3)"
expect_empty "the couplet command is not built" "$(find "$work/build" -type f -name couplet)"

# A compiler newer than ours may warn of something new.
expect_success "a user's build is configured" meson setup -Dtests=disabled -Dcommand=disabled "$work/plain" "$1"
expect_success "a user's compiler shows warnings" grep -q -e -Wall "$work/plain/compile_commands.json"
expect_empty "a warning does not break a user's build" "$(grep -e -Werror "$work/plain/compile_commands.json")"
expect_empty "./check treats warnings as errors in all its builds" "$(grep 'meson setup' "$1/check" | grep -v -e -Dwerror=true)"
finish
