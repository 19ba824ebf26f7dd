# Has a shell that sources it, bash or zsh, use the engine where it would use an installed CANN.
toolkit="$(dirname "$(readlink -f "${BASH_SOURCE[0]:-$0}")")"
export ASCEND_TOOLKIT_HOME="$toolkit" ASCEND_HOME_PATH="$toolkit" ASCEND_OPP_PATH="$toolkit/opp" ASCEND_AICPU_PATH="$toolkit"
export LD_LIBRARY_PATH="$toolkit/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PYTHONPATH="$toolkit/python/site-packages${PYTHONPATH:+:$PYTHONPATH}"
unset toolkit
