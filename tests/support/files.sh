# Reads files without a process. Bash starts one for $(<FILE), and a process takes longer than most commands here.

# read_file NAME FILE: sets the variable NAME to the content of a text file, its last newline included.
read_file() {
    IFS= read -rd '' "$1" <"$2"
}

# same_text FILE FILE: the contents of two text files are equal.
same_text() {
    local text_a text_b
    read_file text_a "$1"
    read_file text_b "$2"
    [[ $text_a == "$text_b" ]]
}
