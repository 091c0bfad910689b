# shellcheck shell=bash
# Editors and terminals.
#: vim|vim script||
#: emacs|emacs||
#: nano|nano expect||
#: tmux|tmux||
#: screen|screen||

case_vim() {
  seq 2000 >text
  script -qec 'vim -u NONE -i NONE -n -c "%s/1/one/g" -c "r !echo from a shell" -c wq text' typescript </dev/null >/dev/null
  vim -u NONE -i NONE -es -c 'g/9/d' -c 'w! less' -c q text
  rm -f typescript
}

case_emacs() {
  emacs -Q --batch --eval '(progn (with-temp-file "made" (dotimes (i 2000) (insert (number-to-string (* i i)) "\n"))) (princ (shell-command-to-string "wc -l made")))'
  printf '(defun f (n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2)))))\n(princ (f 20))\n' >f.el
  emacs -Q --batch -l f.el
  emacs -Q --batch -f batch-byte-compile f.el
  emacs -Q --batch --eval '(error "a problem")'
  echo "status $?"
}

case_nano() {
  echo begin >text
  expect -c 'log_user 0; set timeout 20; spawn nano --ignorercfiles text; expect "begin"; send "typed \x0f"; expect "Write"; send "\r"; expect "Wrote"; send "\x18"; expect eof; exit [lindex [wait] 3]'
  echo "status $?"
  cat text
}

case_tmux() {
  tmux -f /dev/null -S "$PWD/s" new-session -d -x 80 -y 24 'echo in the pane >pane; sleep 0.3; seq 100 >numbers; tmux -S "'"$PWD"'/s" wait-for -S over; sleep 60'
  tmux -S "$PWD/s" wait-for over
  tmux -S "$PWD/s" kill-server
  until_true no_process_here
  rm -f s
  cat pane
}

# Are only we left? A server that was told to end takes a moment.
no_process_here() {
  local file pid
  for file in $(grep -l -s -z -F -e "PL_CASE_DIR=$PL_CASE_DIR" /proc/[0-9]*/environ); do
    pid=${file#/proc/}
    pid=${pid%/environ}
    case $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null) in
    tmux* | SCREEN* | screen* | sleep*) return 1 ;;
    esac
  done
}

case_screen() {
  mkdir -m 700 dir
  export SCREENDIR=$PWD/dir
  screen -c /dev/null -d -m -S x sh -c 'echo inside >pane; tty | sed "s/[0-9]*//g" >which'
  until_true test -s which
  until_true no_process_here
  rm -rf dir
  cat pane which
}
