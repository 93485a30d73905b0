#compdef slipway
# Completion of slipway for zsh. The program names the words; files are completed where it names none.
_slipway() {
    local -a found
    found=("${(@f)$("${words[1]}" complete -- "${(@)words[1,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then
        compadd -- "${found[@]}"
    else
        _files
    fi
}
if [[ "${funcstack[1]}" = "_slipway" ]]; then
    _slipway "$@"
else
    compdef _slipway slipway
fi
