# Sourced by scripts whose work can be divided: PART=I/N selects items I, I + N, I + 2N, ... of a list. Without PART all
# items are selected. The variable is removed from the environment, so that it does not divide what the items run.
if [[ -n ${PART:-} && ! ( $PART =~ ^([1-9][0-9]{0,3})/([1-9][0-9]{0,3})$ && ${PART%/*} -le ${PART#*/} ) ]]; then
    echo "${0##*/}: PART=$PART: expected I/N with 1 <= I <= N" >&2
    exit 2
fi
part=${PART:-1/1} part_next=0
unset PART

# in_part: returns true when the next item of the list is in this part.
in_part() {
    local number=$part_next
    ((part_next++))
    ((number % ${part#*/} == ${part%/*} - 1))
}
