#!/bin/bash
# What services said on a machine of tests: a file for each unit.
unit= lines=
while [ $# -gt 0 ]; do
  case $1 in
    -u | --unit) unit=${2%.service}; shift ;;
    --unit=*) unit=${1#--unit=}; unit=${unit%.service} ;;
    -n | --lines) lines=$2; shift ;;
    -n* | --lines=*) lines=${1#--lines=}; lines=${lines#-n} ;;
    -o | --output | -S | --since | -U | --until | -p | --priority) shift ;;
  esac
  shift
done
[ -n "$unit" ] || { echo "only the log of a unit can be asked for here" >&2; exit 1; }
[ -e "/var/log/$unit.log" ] || { echo "-- No entries --"; exit 0; }
if [ -n "$lines" ] && [ "$lines" != all ]; then tail -n "$lines" "/var/log/$unit.log"; else cat "/var/log/$unit.log"; fi
