# The completion scripts of the shells: each offers exactly the options of each command's help text. Sourced by run.sh.

for shell in bash zsh fish; do
    "$home/ci/completion" $shell "$B" >"completion.$shell" 2>err || echo "FAIL set-up: completion of $shell: $(<err)"
done
lab_commands='run compare explore'
commands="record attach capture report convert doctor symbolize $lab_commands"

# bash_offers WORD...: what bash offers for the last word, one a line.
bash_offers() {
    bash -c 'source ./completion.bash; compopt() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _strobe
        printf "%s\n" "${COMPREPLY[@]}"' bash "$@" | sort
}

# fish_offers LINE: what fish offers for the last word of the line, one a line.
fish_offers() {
    HOME=$work fish --no-config -c "source completion.fish; complete -C '$1'" | cut -f1 | sort
}

# Options of other commands are between backquotes.
long_options_in_help() {
    { echo --help; "$strobe" help "$1" | sed 's/`[^`]*`//g'; } | options | grep '^--' | sort -u
}

if wanted bash_completes_options; then
    fault=
    for command in $commands; do
        fault+=$(diff <(bash_offers strobe $command --) <(long_options_in_help $command)) || fault+=" ($command)"
    done
    verdict bash_completes_options "$fault"
fi
if wanted bash_completes_commands_and_kinds; then
    fault=
    [[ $(bash_offers strobe re) == $'record\nreport' ]] || fault+="re: $(bash_offers strobe re) "
    [[ $(bash_offers strobe-lab '' | tr '\n' ' ') == '--help --version compare explore help run ' ]] ||
        fault+="strobe-lab: $(bash_offers strobe-lab '') "
    [[ $(bash_offers strobe import matrix) == $'matrix-events\nmatrix-log' ]] ||
        fault+="import: $(bash_offers strobe import matrix) "
    [[ $(bash_offers strobe import ftrace --p) == --pid ]] || fault+="--p: $(bash_offers strobe import ftrace --p)"
    verdict bash_completes_commands_and_kinds "$fault"
fi
if wanted bash_completes_no_options_of_the_recorded_program; then
    fault=$(bash_offers strobe record -- ls --)
    verdict bash_completes_no_options_of_the_recorded_program "$fault"
fi
if wanted fish_completes_options; then
    fault=
    for command in $commands; do
        fault+=$(diff <(fish_offers "strobe $command --") <(long_options_in_help $command)) || fault+=" ($command)"
    done
    for command in $lab_commands; do
        fault+=$(diff <(fish_offers "strobe-lab $command --") <(long_options_in_help $command)) || fault+=" ($command)"
    done
    verdict fish_completes_options "$fault"
fi
if wanted fish_completes_commands_and_kinds; then
    fault=
    [[ $(fish_offers 'strobe re') == $'record\nreport' ]] || fault+="re: $(fish_offers 'strobe re') "
    [[ $(fish_offers 'strobe import matrix') == $'matrix-events\nmatrix-log' ]] ||
        fault+="import: $(fish_offers 'strobe import matrix')"
    verdict fish_completes_commands_and_kinds "$fault"
fi
if wanted zsh_completion_has_the_options; then
    fault=$(zsh -fn completion.zsh 2>&1)
    for command in $commands; do
        fault+=$(diff <(sed -n "/^    '$command') /,/;;\$/p" completion.zsh | sed -nE "s/^        '(--[a-z-]+).*/\1/p" |
            sort) <(long_options_in_help $command)) || fault+=" ($command)"
    done
    verdict zsh_completion_has_the_options "$fault"
fi
if wanted completion_of_another_shell_is_refused; then
    run "$home/ci/completion" tcsh "$B"
    [[ $status == 2 && $(<err) == 'usage: ci/completion bash|zsh|fish BUILD' ]] && fault= || fault="$status: $(<err)"
    verdict completion_of_another_shell_is_refused "$fault"
fi
