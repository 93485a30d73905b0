# First process of a machine. Its root is the host's, read only, below a layer of its own; /var is a folder on disk, as
# container runtimes and the kubelet want one. What the machine is called and has comes in MACHINE_* variables.
set -eu
folder=$MACHINE_FOLDER
root=$folder/root
# The /proc here is still that of the test, so this is the number that the test knows the process by.
read -r process _ </proc/self/stat
echo "$process" >"$folder/process.new"
mv "$folder/process.new" "$folder/process"

mkdir -p "$root" "$folder/layer/upper" "$folder/layer/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/layer/upper,workdir=$folder/layer/work" "$root"
mount --bind "$folder/disk/var" "$root/var"
mount --bind "$folder/disk/home" "$root/root"
for name in tmp run; do mount -t tmpfs -o mode=755 tmpfs "$root/$name"; done
chmod 1777 "$root/tmp"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
if [ "${MACHINE_CLOUD:-no}" = yes ]; then
  # Devices of its own: volumes come and go, and those of the host are none of its business.
  mount -t tmpfs -o mode=755 tmpfs "$root/dev"
  for device in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0 kmsg:1:11 fuse:10:229; do
    IFS=: read -r name major minor <<<"$device"
    mknod -m 666 "$root/dev/$name" c "$major" "$minor"
  done
  mkdir -p "$root/dev/pts" "$root/dev/shm" "$root/dev/net" "$root/dev/disk/by-id"
  mknod -m 666 "$root/dev/net/tun" c 10 200
  mount --rbind /dev/pts "$root/dev/pts"
  mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
  ln -s pts/ptmx "$root/dev/ptmx"
  ln -s /proc/self/fd "$root/dev/fd"
  for number in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${number%%:*}" "$root/dev/${number#*:}"; done
  mkfifo -m 622 "$root/dev/console"
else
  mount --rbind /dev "$root/dev"
fi
for pair in $MACHINE_PROGRAMS; do
  mkdir -p "$root/usr/local/lib/${pair%%=*}"
  mount --bind "${pair#*=}" "$root/usr/local/lib/${pair%%=*}"
  mount -o remount,bind,ro "$root/usr/local/lib/${pair%%=*}"
done

# Control groups: the machine's own are the root of what it sees.
if [ "$MACHINE_CGROUPS" = 2 ]; then
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
  # A group with processes of its own may not share out what it has.
  mkdir -p "$root/sys/fs/cgroup/init"
  for pid in $(cat "$root/sys/fs/cgroup/cgroup.procs"); do echo "$pid" >"$root/sys/fs/cgroup/init/cgroup.procs" || :; done
  for controller in $(cat "$root/sys/fs/cgroup/cgroup.controllers"); do
    echo "+$controller" >"$root/sys/fs/cgroup/cgroup.subtree_control" || :
  done
else
  mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
  while IFS=: read -r _ controllers _; do
    [ -n "$controllers" ] || continue
    place=$root/sys/fs/cgroup/${controllers#name=}
    mkdir -p "$place"
    case $controllers in name=*) options=none,$controllers ;; *) options=$controllers ;; esac
    mount -t cgroup -o "$options" cgroup "$place"
  done </proc/self/cgroup
fi

# A kubelet sets these for the whole host. It finds them set already, and has its own to write to.
mkdir -p "$root/run/sysctl"
for pair in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  [ -e "$root/proc/sys/${pair%=*}" ] || continue
  name=$(echo "${pair%=*}" | tr / .)
  echo "${pair#*=}" >"$root/run/sysctl/$name"
  mount --bind "$root/run/sysctl/$name" "$root/proc/sys/${pair%=*}"
done

cd "$root"
pivot_root . .
umount -l .
cd /
mount --make-rshared /
hostname "$MACHINE_NAME"

ip link set lo up
if [ -e /dev/console ] && [ -p /dev/console ]; then
  # What is written to the console is in the log of this process.
  cat 0<>/dev/console &
fi
for pair in $MACHINE_INTERFACES; do
  until ip link show "${pair%%=*}" >/dev/null 2>&1; do sleep 0.01; done
  [ "${MACHINE_CLOUD:-no}" = no ] || echo 0 >"/proc/sys/net/ipv6/conf/${pair%%=*}/accept_dad"
  ip address add "${pair#*=}" dev "${pair%%=*}"
  ip link set "${pair%%=*}" up
done
ip route add default via "$MACHINE_GATEWAY"
if [ "${MACHINE_CLOUD:-no}" = yes ]; then ip -6 route add fd00:ec2::254/128 dev eth0; fi
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
if [ -w /proc/sys/net/bridge/bridge-nf-call-iptables ]; then echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables; fi

[ -e /etc/machine-was-made ] || . /usr/local/lib/machine/first.sh
mkdir -p /run/lock /run/sshd

# There is memory enough, and processors are few: the programs of Go collect less often.
export GOGC=400

# Restarts what ends.
keep() {
  while :; do
    "$@" </dev/null >>"/var/log/${1##*/}.log" 2>&1 || :
    sleep 1
  done
}
if [ "$MACHINE_INIT" = systemd ]; then
  mkdir -p /run/systemd/system
  systemctl boot
  # As its packages leave it: enabled. Until it is told what to be, it would only end and be started again.
  systemctl enable --quiet kubelet
else
  keep containerd &
  if [ "$MACHINE_SSH" = yes ]; then keep /usr/sbin/sshd -D -e & fi
  if [ -x /etc/rc.local ]; then /etc/rc.local </dev/null >>/var/log/rc.local.log 2>&1 & fi
fi
touch /run/booted
trap 'systemctl halt 2>/dev/null; exit 0' TERM
while :; do
  sleep infinity &
  wait $! || :
done
