# Removes what a dead network left: the control groups of its machines, and its folder.
folder=$1
for list in "$folder"/*/cgroups; do
  [ -e "$list" ] || continue
  while read -r group; do
    # The kernel takes its time until the last process of a killed machine is gone.
    attempt=0
    while [ -d "$group" ] && [ $attempt -lt 100 ]; do
      find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.05
      attempt=$((attempt + 1))
    done
  done <"$list"
done
# Volumes of instances are devices of the host.
real=$(realpath "$folder")
for behind in /sys/block/loop*/loop/backing_file; do
  [ -e "$behind" ] || continue
  case $(cat "$behind" 2>/dev/null) in
    "$real"/*) device=${behind%/loop/backing_file}; losetup --detach "/dev/${device##*/}" || : ;;
  esac
done
# The lock goes last: until then, whoever finds the folder waits, or clears up after us.
find "$folder" -mindepth 1 -maxdepth 1 ! -name lock -exec rm -rf --one-file-system {} +
rm -rf --one-file-system "$folder"
