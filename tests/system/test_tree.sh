#!/bin/sh
# The source tree keeps its own rules. Argument: the top folder.
. "$(dirname "$0")/report.sh"
cd "$1" || exit 1

unlisted_sources() {
    for folder in core core/kernels core/io ops layers optim models experiments experiments/kit; do
        for file in "$folder"/*.c; do
            [ ! -f "$file" ] || grep -q "'$file'" meson.build || echo "$file"
        done
    done
}

unlisted_tests() {
    for file in tests/*/test_*.c; do
        name=$(echo "$file" | sed 's|^tests/||; s|/test_|/|; s|\.c$||')
        [ ! -f "$file" ] || grep -q "'$name'" tests/meson.build || echo "$file"
    done
}

# A folder includes itself and the folders before it, never those after.
upward_includes() {
    above=""
    for folder in core ops layers optim models; do
        above="$above${above:+\\|}$folder"
        [ -d "$folder" ] || continue
        grep -rn '#include "[a-z_]*/' "$folder" --include='*.[ch]' | grep -v "#include \"\\($above\\)/"
    done
}

if command -v shellcheck >/dev/null; then
    expect_success "shellcheck has nothing against the shell scripts" \
        shellcheck -S warning check demo .ci/run .ci/prepare.sh tests/*/*.sh
else
    skip "shellcheck has nothing against the shell scripts" "shellcheck is missing"
fi
expect_empty "every source file is in meson.build" "$(unlisted_sources)"
expect_empty "every unit test is in tests/meson.build" "$(unlisted_tests)"
expect_empty "includes point only to folders above" "$(upward_includes)"
expect_empty "./demo leaves build/, and what README does there, alone" "$(grep -n -e 'setup build ' -e '-C build ' demo)"
finish
