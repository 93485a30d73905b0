# Keeps a network until standard input ends, which it does when the test is gone, whatever it died of; then removes all
# that it and its machines were. Arguments: the folder of the network.
folder=$1
exec 3<&0 9>"$folder/lock"
# Whoever can take this lock knows that the network is dead, and may clear up.
flock 9
# The namespaces die with the first process in them, and that with this one.
setpriv --pdeathsig KILL unshare --mount --net --pid --uts --ipc --fork --kill-child --propagation private \
  bash "$folder/switch.sh" </dev/null 3<&- 9<&- 2>"$folder/switch.log" &
switch=$!
exec >/dev/null 2>&1
cat <&3
kill -KILL $switch
wait $switch
exec sh "$folder/clear.sh" "$folder"
