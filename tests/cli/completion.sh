# The completion scripts of the shells: each offers exactly the options of each command's help text. Sourced by run.sh.

# make has written them, unless only a part of the tree is built.
for shell in bash zsh fish; do
    made=$B/completion/strobe.$shell
    if [[ $made -nt $B/strobe && $made -nt $B/strobe-lab && $made -nt $home/ci/completion ]]; then
        cp "$made" "completion.$shell"
    else
        "$home/ci/completion" $shell "$B" >"completion.$shell" 2>err ||
            echo "FAIL set-up: completion of $shell: $(<err)"
    fi
done
lab_commands='run compare explore learn'
commands="record attach capture report convert export diff merge open doctor symbolize $lab_commands"

# Asks one bash for all lines: `bash-offers/LINE` gets what bash offers for the last word of the line, one a line. The
# last word of a line that ends with a blank is empty.
ask_bash() {
    mkdir -p bash-offers
    bash -c 'source ./completion.bash
        compopt() { :; }
        for line in "$@"; do
            read -ra COMP_WORDS <<<"$line"
            [[ $line != *" " ]] || COMP_WORDS+=("")
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _strobe
            ((${#COMPREPLY[@]} == 0)) || printf "%s\n" "${COMPREPLY[@]}" | sort >"bash-offers/$line"
            : >>"bash-offers/$line"
        done' bash "$@"
}

# Asks one fish for all lines, because each start takes longer than the answer: `fish-offers/LINE` gets what fish offers
# for the last word of the line, one a line.
ask_fish() {
    mkdir -p fish-offers
    HOME=$work fish --no-config -c 'source completion.fish
        for line in $argv; complete -C $line | cut -f1 | sort >"fish-offers/$line"; end' "$@"
}

# The long options of each command's help text are in the file long-options-COMMAND. Options of other commands are
# between backquotes, which the pattern skips.
help_texts=()
for command in $commands; do help_texts+=("help-$command"); done
while IFS=: read -r file option; do
    echo "$option" >>"long-options-${file#help-}"
done < <({ grep -oHP '`[^`]*`(*SKIP)(*FAIL)|(?<![\w-])--[a-z][a-z-]+(?![\w-])' "${help_texts[@]}"
    printf 'help-%s:--help\n' $commands; } | sort -u)

if wanted bash_completes_options || wanted bash_completes_commands_and_kinds ||
    wanted bash_completes_no_options_of_the_recorded_program; then
    lines=('strobe re' 'strobe-lab ' 'strobe import matrix' 'strobe import ftrace --p' 'strobe record -- ls --')
    for command in $commands; do lines+=("strobe $command --"); done
    ask_bash "${lines[@]}"
fi
if wanted bash_completes_options; then
    fault=
    for command in $commands; do
        same_text "bash-offers/strobe $command --" "long-options-$command" ||
            fault+=$(diff "bash-offers/strobe $command --" "long-options-$command")" ($command)"
    done
    verdict bash_completes_options "$fault"
fi
if wanted bash_completes_commands_and_kinds; then
    fault=
    while IFS='|' read -r line offered; do
        read_file said "bash-offers/$line"
        [[ ${said//$'\n'/ } == "$offered " ]] || fault+="$line: $said "
    done <<'END'
strobe re|record report
strobe-lab |--help --version compare explore help learn run
strobe import matrix|matrix-events matrix-log
strobe import ftrace --p|--pid
END
    verdict bash_completes_commands_and_kinds "$fault"
fi
if wanted bash_completes_no_options_of_the_recorded_program; then
    read_file fault 'bash-offers/strobe record -- ls --'
    verdict bash_completes_no_options_of_the_recorded_program "$fault"
fi
if wanted fish_completes_options; then
    fault= lines=()
    for command in $commands; do lines+=("strobe $command --"); done
    for command in $lab_commands; do lines+=("strobe-lab $command --"); done
    ask_fish "${lines[@]}"
    for line in "${lines[@]}"; do
        command=${line#* } command=${command% --}
        same_text "fish-offers/$line" "long-options-$command" ||
            fault+=$(diff "fish-offers/$line" "long-options-$command")" ($line)"
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
