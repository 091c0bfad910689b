#!/bin/sh
# TaskProlog for Slurm: the first task of a node begins the job there, and every task is recorded. Slurm
# reads "export NAME=value" lines from standard output; nothing else may be printed.
#
#     TaskProlog=/usr/local/share/plimsoll/slurm/task_prolog.sh
#
# PLIMSOLL_PREFIX, set here or in /etc/plimsoll.conf, is where job directories are created.
plimsoll=${PLIMSOLL:-plimsoll}
if [ "${SLURM_LOCALID:-0}" = 0 ]; then
  "$plimsoll" start -q >/dev/null 2>&1
fi
"$plimsoll" source --slurm 2>/dev/null
exit 0
