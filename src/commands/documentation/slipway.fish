# Completion of slipway for fish. The program names the words; files are completed where it names none.
function __slipway_complete
    set -l current (commandline --current-token --cut-at-cursor)
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    set -l found ($words[1] complete -- $words "$current" 2>/dev/null)
    if test -n "$found"
        printf '%s\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete --command slipway --no-files --arguments '(__slipway_complete)'
