# Completion of slipway for bash. The program names the words; files are completed where it names none.
_slipway() {
    local words=("${COMP_WORDS[@]:0:COMP_CWORD+1}")
    mapfile -t COMPREPLY < <("$1" complete -- "${words[@]}" 2>/dev/null)
}
complete -o default -o bashdefault -F _slipway slipway
