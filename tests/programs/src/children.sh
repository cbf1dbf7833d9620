# A shell with many children, every second of which executes a program:  children.sh CHILDREN
sum=0
for ((i = 0; i < $1; i++)); do
    if ((i % 2)); then
        /bin/true || exit 1
    else
        (exit $((i % 100)))
        ((sum += $?))
    fi
done
echo "$1 children, sum $sum"
exit 3
