# Installs Couplet, to compile programs against it as users do. A test sources this file after report.sh; its arguments
# # are the top folder, the build folder and the C compiler. Ends the test if something needed for compiling is missing.
#
#   top, build, cc, work      the arguments, and a temporary folder
#   libdir                    where the libraries are
#   compile_as_told           cc ... $(pkg-config --cflags --libs PACKAGE), with the warnings on
# shellcheck shell=sh disable=SC2034 # for those who read it

top=$1 build=$2 cc=$3
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT

expect_success "meson installs the libraries" meson install -C "$build" --no-rebuild --quiet --destdir "$work/root"
pc=$(find "$work/root" -name couplet.pc)
if [ -z "$pc" ] || ! command -v pkg-config >/dev/null; then
    skip "programs compile through pkg-config" "there is no couplet.pc or no pkg-config"
    finish
fi
libdir=$(dirname "$(dirname "$pc")")
for file in "$libdir"/pkgconfig/*.pc; do # as if the prefix had been here
    sed "s|^prefix=|prefix=$work/root|" "$file" >"$work/moved.pc" && mv "$work/moved.pc" "$file"
done
PKG_CONFIG_PATH=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir
export PKG_CONFIG_PATH LD_LIBRARY_PATH

compile_as_told() { # package, program, sources and more of the compiler's words...
    package=$1 out=$2
    shift 2
    # shellcheck disable=SC2046 # flags are words
    "$cc" -Wall -Wextra -Werror "$@" $(pkg-config --cflags --libs "$package") -o "$out"
}

# The C block after a line such as <!-- program: fit lines<=40 --> of a page.
extract() { # page, name
    awk -v mark="^<!-- program: *${2}[ -]" '
        $0 ~ mark { found = 1 }
        inside && /^```/ { exit }
        inside { print }
        found && /^```c/ { inside = 1 }' "$1"
}

programs_of() { # page
    sed -n 's/^<!-- program: *\([a-z_]*\).*-->$/\1/p' "$1"
}

# Extracts a program and checks that it is as short as the page says; the page may give no limit.
extract_short() { # page, name
    extract "$1" "$2" >"$work/$2.c"
    limit=$(sed -n "s/^<!-- program: *$2 .*lines<=\\([0-9]*\\).*/\\1/p" "$1")
    lines=$(($(wc -l <"$work/$2.c")))
    expect_success "$(basename "$1")'s program $2 has at most ${limit:-any number of} lines (it has $lines)" \
        test "$lines" -gt 0 -a "$lines" -le "${limit:-$lines}"
}
