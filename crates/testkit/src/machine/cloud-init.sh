#!/bin/bash
# Runs the scripts of an instance's user data once, as cloud-init does: one that was interrupted is not run again. What
# they say is on the console and in /var/log/cloud-init-output.log.
set -u
instance=/var/lib/cloud/instance
if [ ! -e $instance ]; then
  mkdir -p $instance
  export HOME=/root
  set -a
  . /etc/environment
  set +a
  for script in /usr/local/lib/machine/cloud/scripts/*; do
    [ -e "$script" ] || continue
    name=${script##*/}
    cp "$script" "$instance/$name"
    chmod 700 "$instance/$name"
    (cd / && exec "$instance/$name") 2>&1 </dev/null | tee -a /var/log/cloud-init-output.log >/dev/console
    status=${PIPESTATUS[0]}
    [ "$status" = 0 ] || echo "cloud-init: $name ended with $status" | tee -a /var/log/cloud-init-output.log >/dev/console
  done
fi
touch $instance/boot-finished
echo "cloud-init: finished" >/dev/console
