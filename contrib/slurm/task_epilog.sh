#!/bin/sh
# TaskEpilog for Slurm: the first task of a node ends the job there, and the last task to end stages it, because `stage`
# refuses a job that is still being recorded. Prints nothing and never fails: Slurm would show that to the user.
#
#     TaskEpilog=/usr/local/share/plimsoll/slurm/task_epilog.sh
plimsoll=${PLIMSOLL:-plimsoll}
unset LD_PRELOAD
if [ "${SLURM_LOCALID:-0}" = 0 ]; then
  "$plimsoll" stop -q >/dev/null 2>&1
fi
[ -z "${PLIMSOLL_STAGE_DEST:-}" ] || "$plimsoll" stage >/dev/null 2>&1
exit 0
