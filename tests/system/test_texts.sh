#!/bin/sh
# The manual page and the shell completions are installed, complete, and understood by the programs that read them.
# Arguments: the top folder, the build folder, the C compiler.
# shellcheck disable=SC2154 # installed.sh sets what is used here
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/installed.sh"
cd "$work" || exit 1
couplet=$(find "$work/root" -path '*/bin/couplet')
if [ -z "$couplet" ]; then
    skip "the command's texts are installed" "the command is not built"
    finish
fi
man=$(find root -path '*/man/man1/couplet.1')
bash=$(find root -path '*/bash-completion/completions/couplet')
zsh=$(find root -path '*/zsh/site-functions/_couplet')
fish=$(find root -path '*/fish/vendor_completions.d/couplet.fish')

commands=$("$couplet" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
expect_success "help lists the commands" test -n "$commands"

# Commands and options that are in the help but not in the text.
missing_in() { # file, what comes before an option's name there
    for command in $commands; do
        grep -q -e "$command" "$1" || echo "$command"
        for option in $("$couplet" "$command" --help | sed -n 's/^  --\([a-z_-]*\).*/\1/p'); do
            grep -q -e "$2$option\>" "$1" || echo "--$option"
        done
    done
}

for text in "man $man" "bash $bash" "zsh $zsh" "fish $fish"; do
    expect_success "the file for ${text%% *} is installed" test -s "${text#* }"
done
expect_empty "the manual page has every command and option" "$(missing_in "$man" '^\.B \\-\\-')"
for variable in COUPLET_THREADS COUPLET_KERNELS COUPLET_CONV; do
    expect_success "the manual page documents $variable" grep -qx "\.B $variable" "$man"
done
expect_empty "the completions for bash have every command and option" "$(missing_in "$bash" '--')"
expect_empty "the completions for zsh have every command and option" "$(missing_in "$zsh" "'--")"
expect_empty "the completions for fish have every command and option" "$(missing_in "$fish" '-l ')"
expect_success "another shell is refused" sh -c "'$couplet' --completion csh 2>&1 | grep -q 'bash, zsh or fish, not for \"csh\"'"

if command -v groff >/dev/null; then
    expect_empty "groff accepts the manual page without warnings" "$(groff -man -Tascii -ww "$man" 2>&1 >/dev/null)"
else
    skip "groff accepts the manual page without warnings" "groff is missing"
fi

# ---- the shells themselves ----

touch model.safetensors

if command -v bash >/dev/null; then
    cat >try.bash <<'BASH'
. "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_couplet
echo "${COMPREPLY[*]}"
BASH
    completes() { # sentence, what is offered, words; the last is the one to complete
        sentence=$1 expected=$2
        shift 2
        found=$(bash try.bash "$bash" "$@")
        expect_success "$sentence ($found)" test "$found" = "$expected"
    }
    completes "bash completes a command" synthetic couplet synth
    completes "bash completes an option" --geometry couplet synthetic --geo
    completes "bash offers the choices of an option" "reported printed" couplet synthetic --geometry ""
    completes "bash completes after an equals sign" printed couplet synthetic --geometry = pr
    completes "bash offers nothing for a number" "" couplet synthetic --steps ""
    completes "bash completes files for a command that takes them" model.safetensors couplet predict mod
    completes "bash offers no files for a command that takes none" "" couplet synthetic mod
    completes "bash completes the first words of a command" kernels couplet bench k
    completes "bash completes files after them" model.safetensors couplet bench kernels mod
else
    skip "bash completes commands, options and values" "bash is missing"
fi

if command -v fish >/dev/null; then
    offers() { # sentence, what is offered, line
        found=$(HOME=$work fish -c "source '$fish'; complete -C '$3'" | cut -f 1 | paste -s -d ' ' -)
        expect_success "$1 ($found)" test "$found" = "$2"
    }
    offers "fish completes a command" synthetic "couplet synth"
    offers "fish completes an option" --geometry "couplet synthetic --geo"
    offers "fish offers the choices of an option" "printed reported" "couplet synthetic --geometry "
    offers "fish offers nothing for a number" "" "couplet synthetic --steps "
    offers "fish completes the first words of a command" kernels "couplet bench k"
    offers "fish completes files for a command that takes them" model.safetensors "couplet predict mod"
else
    skip "fish completes commands, options and values" "fish is missing"
fi

if command -v zsh >/dev/null; then
    expect_success "zsh can read its completions" zsh -n "$zsh"
else
    skip "zsh can read its completions" "zsh is missing"
fi
finish
