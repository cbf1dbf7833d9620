# The completion scripts of the shells: each offers exactly the options of each command's help text. Sourced by run.sh.

for shell in bash zsh fish; do
    "$home/ci/completion" $shell "$B" >"completion.$shell" 2>err || echo "FAIL set-up: completion of $shell: $(<err)"
done
lab_commands='run compare explore learn'
commands="record attach capture report convert export diff merge open doctor symbolize $lab_commands"

# bash_offers WORD...: what bash offers for the last word, one a line.
bash_offers() {
    bash -c 'source ./completion.bash; compopt() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _strobe
        printf "%s\n" "${COMPREPLY[@]}"' bash "$@" | sort
}

# Asks one fish for all lines, because each start takes longer than the answer: `fish-offers/LINE` gets what fish offers
# for the last word of the line, one a line.
ask_fish() {
    mkdir -p fish-offers
    HOME=$work fish --no-config -c 'source completion.fish
        for line in $argv; complete -C $line | cut -f1 | sort >"fish-offers/$line"; end' "$@"
}

# The long options of each command's help text are in the file long-options-COMMAND. Options of other commands are
# between backquotes.
for command in $commands; do
    { echo --help; "$strobe" help "$command" | sed 's/`[^`]*`//g'; } | options | grep '^--' | sort -u \
        >"long-options-$command"
done

if wanted bash_completes_options; then
    fault=
    for command in $commands; do
        fault+=$(diff <(bash_offers strobe $command --) long-options-$command) || fault+=" ($command)"
    done
    verdict bash_completes_options "$fault"
fi
if wanted bash_completes_commands_and_kinds; then
    fault=
    [[ $(bash_offers strobe re) == $'record\nreport' ]] || fault+="re: $(bash_offers strobe re) "
    [[ $(bash_offers strobe-lab '' | tr '\n' ' ') == '--help --version compare explore help learn run ' ]] ||
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
    fault= lines=()
    for command in $commands; do lines+=("strobe $command --"); done
    for command in $lab_commands; do lines+=("strobe-lab $command --"); done
    ask_fish "${lines[@]}"
    for command in $commands; do
        fault+=$(diff "fish-offers/strobe $command --" long-options-$command) || fault+=" ($command)"
    done
    for command in $lab_commands; do
        fault+=$(diff "fish-offers/strobe-lab $command --" long-options-$command) || fault+=" ($command)"
    done
    verdict fish_completes_options "$fault"
fi
if wanted fish_completes_commands_and_kinds; then
    fault=
    ask_fish 'strobe re' 'strobe import matrix'
    [[ $(<'fish-offers/strobe re') == $'record\nreport' ]] || fault+="re: $(<'fish-offers/strobe re') "
    [[ $(<'fish-offers/strobe import matrix') == $'matrix-events\nmatrix-log' ]] ||
        fault+="import: $(<'fish-offers/strobe import matrix')"
    verdict fish_completes_commands_and_kinds "$fault"
fi
if wanted zsh_completion_has_the_options; then
    fault=$(zsh -fn completion.zsh 2>&1)
    for command in $commands; do
        fault+=$(diff <(sed -n "/^    '$command') /,/;;\$/p" completion.zsh | sed -nE "s/^        '(--[a-z-]+).*/\1/p" |
            sort) long-options-$command) || fault+=" ($command)"
    done
    verdict zsh_completion_has_the_options "$fault"
fi
if wanted completion_of_another_shell_is_refused; then
    run "$home/ci/completion" tcsh "$B"
    [[ $status == 2 && $(<err) == 'usage: ci/completion bash|zsh|fish BUILD' ]] && fault= || fault="$status: $(<err)"
    verdict completion_of_another_shell_is_refused "$fault"
fi
