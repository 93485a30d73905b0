# Keeps a program running. Standard input is a lock that is held as long as this shell lives.
folder=$1
shift
stopping=
child=
# Once is enough, so that the last wait is not interrupted.
trap 'stopping=1; trap "" TERM INT; if [ -n "$child" ]; then kill -TERM "$child" 2>/dev/null; fi' TERM INT
trap '' HUP
note() { echo "$2" >"$folder/$1.new" && mv "$folder/$1.new" "$folder/$1"; }
note pid $$
delay=1
# Without its folder it is wanted no more.
while [ -z "$stopping" ] && [ -d "$folder" ]; do
    begun=$(date +%s)
    "$@" </dev/null &
    child=$!
    note child "$child"
    # The signal may have come before there was a child to pass it on to.
    if [ -n "$stopping" ]; then kill -TERM "$child" 2>/dev/null; fi
    wait "$child"
    status=$?
    if [ -n "$stopping" ]; then
        wait "$child"
        break
    fi
    child=
    rm -f "$folder/child"
    if [ $(($(date +%s) - begun)) -ge 60 ]; then delay=1; fi
    echo "slipway: it ended with status $status and is started again in $delay s"
    sleep "$delay" </dev/null &
    child=$!
    wait "$child"
    child=
    if [ "$delay" -lt 10 ]; then delay=$((delay * 2)); fi
done
