#!/bin/bash
# What services need of systemd on a machine of tests: units with their drop-ins, started, kept running, enabled.
#
# A running unit has a folder in /run/services with `pid` (its main process), `keeper` (who restarts it) and `started`
# (how often).
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
paths=(/etc/systemd/system /run/systemd/system /usr/local/lib/systemd/system /usr/lib/systemd/system)
wants=/etc/systemd/system/multi-user.target.wants
services=/run/services

unit_file() { # the file of a unit, the most specific first
  local path
  for path in "${paths[@]}"; do
    if [ -e "$path/$1.service" ]; then echo "$path/$1.service"; return 0; fi
  done
  return 1
}

drop_ins() { # the drop-ins of a unit by their names, of one name the most specific
  local path drop
  for path in "${paths[@]}"; do
    for drop in "$path/$1.service.d"/*.conf; do [ -e "$drop" ] && echo "${drop##*/} $drop"; done
  done | LC_ALL=C sort -s -u -k 1,1 | cut -d ' ' -f 2-
}

unit_lines() { # its lines with those of drop-ins, comments left out and continued lines joined
  local file
  file=$(unit_file "$1") || return 1
  {
    cat "$file"; echo
    drop_ins "$1" | while read -r file; do cat "$file"; echo; done
  } | sed -e ':a' -e '/\\$/N' -e 's/\\\n//' -e 'ta' | grep -v '^[#;]'
}

values() { # all values of a key; an empty one forgets those before
  unit_lines "$1" | sed -n "s/^$2=//p" | awk '{ if ($0 == "") n = 0; else v[n++] = $0 } END { for (i = 0; i < n; i++) print v[i] }'
}

value() { values "$1" "$2" | tail -n 1; }

main_process() { # prints it, when it runs
  local pid
  pid=$(cat "$services/$1/pid" 2>/dev/null) && kill -0 "$pid" 2>/dev/null && echo "$pid"
}

active_state() {
  if [ -e "$services/$1/exited" ]; then echo active
  elif main_process "$1" >/dev/null; then echo active
  elif [ -e "$services/$1/keeper" ] && kill -0 "$(cat "$services/$1/keeper")" 2>/dev/null; then echo activating
  elif [ -e "$services/$1/failed" ]; then echo failed
  else echo inactive; fi
}

environment() { # sets a unit's variables, and goes to its folder
  local line file
  set -a
  # There is memory enough, and processors are few: the programs of Go collect less often.
  GOGC=400
  while read -r line; do
    [ -n "$line" ] && eval "export $line"
  done < <(cat /etc/systemd/system.conf.d/*.conf 2>/dev/null | sed -n 's/^DefaultEnvironment=//p'; values "$1" Environment)
  while read -r file; do
    if [ -e "${file#-}" ]; then . "${file#-}"; elif [ "${file:0:1}" != - ]; then return 1; fi
  done < <(values "$1" EnvironmentFile)
  set +a
  cd "$(value "$1" WorkingDirectory | sed 's/^-//')/"
}

prepare() { # runs what comes before it
  local line
  environment "$1" || return 1
  set +u # a variable that is not set is empty
  while read -r line; do
    [ -n "$line" ] && { eval "${line#-}" || [ "${line:0:1}" = - ] || return 1; }
  done < <(values "$1" ExecStartPre)
  return 0
}

run_once() { # runs all commands of a unit of the type oneshot
  local line
  prepare "$1" && environment "$1" || return 1
  set +u
  while read -r line; do
    [ -n "$line" ] && { eval "${line#[-@:+!]}" || [ "${line:0:1}" = - ] || return 1; }
  done < <(values "$1" ExecStart)
  return 0
}

keep() { # runs a unit until it may end
  local unit=$1 folder=$services/$1 restart pause status number=0
  echo $BASHPID >"$folder/keeper"
  while :; do
    restart=$(value "$unit" Restart); pause=$(value "$unit" RestartSec)
    if (prepare "$unit"); then
      (environment "$unit"; command=$(value "$unit" ExecStart); set +u; eval "exec ${command#[-@:+!]}") &
      echo $! >"$folder/pid.new"; mv "$folder/pid.new" "$folder/pid"
      number=$((number + 1)); echo $number >"$folder/started"
      wait $!; status=$?
      rm -f "$folder/pid"
    else
      status=1 number=$((number + 1)); echo $number >"$folder/started"
    fi
    echo "$unit.service: ended with $status"
    [ -e "$folder/stop" ] && break
    case ${restart:-no}:$status in always:* | on-failure:[1-9]*) sleep "${pause:-0.1}" ;; *:0) break ;; *) touch "$folder/failed"; break ;; esac
    [ -e "$folder/stop" ] && break
  done
  rm -f "$folder/keeper"
}

start() {
  unit_file "$1" >/dev/null || { echo "Failed to start $1.service: Unit $1.service not found." >&2; return 5; }
  case $(active_state "$1") in active | activating) return 0 ;; esac
  mkdir -p "$services/$1"
  rm -f "$services/$1"/{stop,failed,started}
  if [ "$(value "$1" Type)" = oneshot ]; then
    if (run_once "$1") >>"/var/log/$1.log" 2>&1 </dev/null; then
      if [ "$(value "$1" RemainAfterExit)" = yes ]; then touch "$services/$1/exited"; fi
      return 0
    fi
    touch "$services/$1/failed"
    echo "Job for $1.service failed because the control process exited with error code." >&2
    return 1
  fi
  setsid "$0" keep "$1" >>"/var/log/$1.log" 2>&1 </dev/null &
  until [ -e "$services/$1/started" ]; do sleep 0.01; done
}

stop() {
  local pid attempt signal=TERM
  [ -d "$services/$1" ] || return 0
  touch "$services/$1/stop"
  rm -f "$services/$1/exited"
  for attempt in {1..600}; do
    [ "$(active_state "$1")" = activating ] && kill "$(cat "$services/$1/keeper")" 2>/dev/null && rm -f "$services/$1/keeper"
    pid=$(main_process "$1") || break
    [ "$attempt" = 500 ] && signal=KILL
    case $attempt in 1 | 500) kill -$signal "$pid" 2>/dev/null ;; esac
    sleep 0.02
  done
  while [ -e "$services/$1/keeper" ] && kill -0 "$(cat "$services/$1/keeper")" 2>/dev/null; do sleep 0.01; done
  rm -f "$services/$1/failed"
}

show() {
  local property
  for property in ${properties:-Id LoadState ActiveState SubState UnitFileState MainPID NRestarts}; do
    local value=
    case $property in
      Id) value=$1.service ;;
      LoadState) unit_file "$1" >/dev/null && value=loaded || value=not-found ;;
      ActiveState) value=$(active_state "$1") ;;
      SubState) case $(active_state "$1") in active) [ -e "$services/$1/exited" ] && value=exited || value=running ;; activating) value=auto-restart ;; failed) value=failed ;; *) value=dead ;; esac ;;
      UnitFileState) unit_file "$1" >/dev/null && { [ -L "$wants/$1.service" ] && value=enabled || value=disabled; } ;;
      MainPID) value=$(main_process "$1") || value=0 ;;
      NRestarts) value=$(($(cat "$services/$1/started" 2>/dev/null || echo 1) - 1)) ;;
      FragmentPath) value=$(unit_file "$1") ;;
      NeedDaemonReload) value=no ;;
    esac
    if [ -n "${bare:-}" ]; then echo "$value"; else echo "$property=$value"; fi
  done
}

verb= units=() now= quiet= properties= bare= lines=10
while [ $# -gt 0 ]; do
  case $1 in
    --now) now=1 ;;
    -q | --quiet) quiet=1 ;;
    --value) bare=1 ;;
    -p) properties+=" ${2//,/ }"; shift ;;
    -p* | --property=*) property=${1#--property=}; property=${property#-p}; properties+=" ${property//,/ }" ;;
    --version) echo "systemd 252 (as a machine of tests has it)"; exit 0 ;;
    -s | --signal | -n | --lines | -t | --type) shift ;;
    -*) ;;
    *) if [ -z "$verb" ]; then verb=$1; else units+=("${1%.service}"); fi ;;
  esac
  shift
done

case $verb in
  daemon-reload | daemon-reexec | reset-failed) for unit in "${units[@]}"; do rm -f "$services/$unit/failed"; done; exit 0 ;;
  is-system-running) echo running; exit 0 ;;
  boot) for unit in "$wants"/*.service; do [ -e "$unit" ] && { unit=${unit##*/}; start "${unit%.service}"; }; done; exit 0 ;;
  halt) for folder in "$services"/*; do [ -d "$folder" ] && stop "${folder##*/}"; done; exit 0 ;;
  keep) keep "${units[0]}"; exit 0 ;;
esac

code=0
for unit in "${units[@]}"; do
  case $verb in
    start) start "$unit" || code=$? ;;
    stop) stop "$unit" ;;
    restart) unit_file "$unit" >/dev/null && stop "$unit"; start "$unit" || code=$? ;;
    try-restart | condrestart) [ "$(active_state "$unit")" != active ] || { stop "$unit"; start "$unit" || code=$?; } ;;
    reload | reload-or-restart) pid=$(main_process "$unit") && kill -HUP "$pid" || start "$unit" || code=$? ;;
    kill) pid=$(main_process "$unit") && kill "$pid" ;;
    is-active)
      state=$(active_state "$unit"); [ -n "$quiet" ] || echo "$state"
      [ "$state" = active ] || code=3 ;;
    is-failed) state=$(active_state "$unit"); [ -n "$quiet" ] || echo "$state"; [ "$state" = failed ] || code=1 ;;
    is-enabled)
      if [ -L "$wants/$unit.service" ]; then state=enabled; elif unit_file "$unit" >/dev/null; then state=disabled; code=1; else state=not-found; code=4; fi
      [ -n "$quiet" ] || echo "$state" ;;
    enable | disable)
      file=$(unit_file "$unit") || { echo "Failed to $verb unit: Unit file $unit.service does not exist." >&2; exit 1; }
      mkdir -p "$wants"
      if [ "$verb" = enable ]; then ln -sfn "$file" "$wants/$unit.service"; else rm -f "$wants/$unit.service"; fi
      [ -z "$now" ] || { if [ "$verb" = enable ]; then start "$unit" || code=$?; else stop "$unit"; fi; } ;;
    status)
      if file=$(unit_file "$unit"); then
        state=$(active_state "$unit"); echo "● $unit.service"; echo "     Loaded: loaded ($file)"; echo "     Active: $state"
        [ "$state" = active ] || code=3
      else
        echo "Unit $unit.service could not be found." >&2; code=4
      fi ;;
    cat) file=$(unit_file "$unit") && { echo "# $file"; unit_lines "$unit"; } || code=1 ;;
    show) show "$unit" ;;
    *) echo "Unknown command verb $verb." >&2; exit 1 ;;
  esac
done
exit $code
