# First process of a network: two bridges that machines are plugged into, with no way out.
set -eu
ip link set lo up
number=0
for address in $SWITCH_ADDRESSES; do
  ip link add br$number type bridge
  ip address add "$address" dev br$number
  ip link set br$number up
  number=$((number + 1))
done
echo 1 >/proc/sys/net/ipv4/ip_forward
# What would leave is refused at once; who waits for an answer from outside would wait long.
ip route add unreachable default
echo 0 >/proc/sys/net/ipv4/icmp_ratelimit
# The /proc here is still that of the test, so this is the number that the test knows the process by.
read -r process _ </proc/self/stat
echo "$process"
exec >/dev/null 2>&1
while :; do
  sleep infinity &
  wait $! || :
done
