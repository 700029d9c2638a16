#!/bin/sh
# couplet.h and every header of the kit can be included in one file, in either order, with the same meaning. If two of
# them define the same name differently, as once CP_END, there is an error, or one has the value of the other.
# Arguments: the top folder, the build folder, the compiler.
. "$(dirname "$0")/report.sh"
top=$1 build=$2 compiler=$3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

includes() { # headers...
    for header; do echo "#include \"$header\""; done
}

compiles() { # file
    "$compiler" -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -fsyntax-only -I"$top" -I"$build" "$1"
}

cd "$top" || exit 1
kit=$(echo experiments/kit/*.h experiments/kit/*/*.h)
cat >"$work/meaning.c" <<'END'
_Static_assert(CP_END == INT32_MAX, "the end of an axis is that of ops.h");
_Static_assert(CP_ANCHOR_START == 0 && CP_ANCHOR_MIDDLE == 1 && CP_ANCHOR_END == 2, "anchors count from 0");
int main(void) { return 0; }
END
# shellcheck disable=SC2086 # the headers are words
{
    { includes couplet.h $kit; cat "$work/meaning.c"; } >"$work/library_first.c"
    { includes $kit couplet.h; cat "$work/meaning.c"; } >"$work/kit_first.c"
}
expect_success "the library's header before those of the kit" compiles "$work/library_first.c"
expect_success "the kit's headers before that of the library" compiles "$work/kit_first.c"

# Mistakes that cannot be detected at run time are compile errors.
refused() { # the body of a program, a word of the compiler's
    printf '#include "couplet.h"\nint main(void) {\n    cp_real data[6] = {0};\n    cp_tape *tape = cp_tape_new();\n' >"$work/wrong.c"
    printf '    cp_tensor *x = cp_variable(tape, data, CP_SHAPE(3, 2));\n    %s\n    return !x;\n}\n' "$1" >>"$work/wrong.c"
    ! said=$(compiles "$work/wrong.c" 2>&1) && echo "$said" | grep -q "$2"
}
expect_success "a tensor in place of a tape does not compile" refused 'x = cp_add(x, x, x);' _Generic
expect_success "a rank with separate sizes does not compile" refused 'x = cp_variable(tape, data, 2, (int[]){3});' argument
expect_success "a shape of six axes does not compile" refused 'x = cp_reshape(tape, x, CP_SHAPE(1, 1, 1, 1, 3, 2));' excess
# An array of the other precision is an error without any option, where a plain pointer would be a warning.
if grep -q "define CP_DOUBLE 1" "$build/couplet_config.h"; then other=float; else other=double; fi
mistyped() { # the body of a program: it is refused as "incompatible type" although warnings are no errors
    printf '#include "couplet.h"\nint main(void) {\n    %s data[6] = {0};\n    cp_tape *tape = cp_tape_new();\n    cp_rng rng = {{0}};\n' $other \
        >"$work/mistyped.c"
    printf '    %s\n    return !tape || !data[0] || !rng.position;\n}\n' "$1" >>"$work/mistyped.c"
    ! said=$("$compiler" -std=c11 -D_POSIX_C_SOURCE=200809L -fsyntax-only -I"$top" -I"$build" "$work/mistyped.c" 2>&1) &&
        echo "$said" | grep -q "incompatible type"
}
for call in 'cp_constant(tape, data, CP_SHAPE(3, 2));' 'cp_variable(tape, data, CP_SHAPE(6));' 'cp_parameter_new(data, CP_SHAPE(6));' \
    'cp_rng_fill_normal(&rng, data, 6, 0, 1);' 'cp_rng_fill_uniform(&rng, data, 6, 0, 1);'; do
    expect_success "an array of $other does not compile: $call" mistyped "$call"
done
accepted() { # the body of a program
    ! refused "$1" . && [ -z "$said" ]
}
expect_success "the right call compiles" accepted 'x = cp_add(tape, x, cp_reshape(tape, x, CP_SHAPE(3, 2)));'
for header in couplet.h experiments/kit/*.h experiments/kit/*/*.h; do
    includes "$header" >"$work/alone.c"
    echo "int main(void) { return 0; }" >>"$work/alone.c"
    expect_success "$header needs no other header before it" compiles "$work/alone.c"
done
finish
