"""Scripts that make shells complete what is typed: from the parser itself, so that they know all that it takes."""

import argparse
from shlex import quote
from typing import NamedTuple

from billhook.cli.options import parser_of_all
from billhook.codegen import LAYOUTS, RUNTIMES, targets
from billhook.pruning import pruning_methods


class Completed(NamedTuple):
    """A command: the words that lead to it, what may follow, and its options.

    Attributes
    ----------
    path : str
        As "study run"; empty for `billhook` itself.
    words : dict
        Commands that may follow, or values of a positional argument, and what is said of each.
    options : dict
        For each option what is said of it.
    values : dict
        For each option that takes a value what can be given, None where that is a file, or anything.
    """

    path: str
    words: dict[str, str]
    options: dict[str, str]
    values: dict[str, tuple[str, ...] | None]


def run(arguments: argparse.Namespace) -> None:
    """Print the script for a shell."""
    commands = completed_of(parser_of_all())
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[arguments.shell](commands))


def completed_of(parser: argparse.ArgumentParser, path: str = "") -> list[Completed]:
    """Return what can be completed after `billhook` and each of its commands."""
    known = _known_values()
    words: dict[str, str] = {}
    options: dict[str, str] = {}
    values: dict[str, tuple[str, ...] | None] = {}
    below: list[Completed] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            words |= {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, inner in action.choices.items():
                below += completed_of(inner, f"{path} {name}".strip())
        elif not action.option_strings:
            words |= dict.fromkeys(map(str, action.choices or ()), "")
        else:
            help_text = (action.help or "").partition(" (default")[0].replace("%%", "%")
            for option in action.option_strings:
                options[option] = help_text
                if action.nargs != 0:
                    given = tuple(map(str, action.choices)) if action.choices else known.get(action.dest)
                    values[option] = given
    return [Completed(path, words, options, values), *below]


def _known_values() -> dict[str, tuple[str, ...]]:
    """Return values of options that the parser does not list, as that would take time."""
    return {
        "target": tuple(target.name for target in targets()),
        "method": tuple(method.name for method in pruning_methods()),
        "layout": tuple(LAYOUTS),
        "runtime": tuple(RUNTIMES),
    }


def _cases(commands: list[Completed]) -> str:
    """Return the patterns of all commands, for a `case` of bash or zsh."""
    return " | ".join(quote(command.path) for command in commands if command.path)


def _bash(commands: list[Completed]) -> str:
    values, words = [], []
    for command in commands:
        for option, given in command.values.items():
            reply = "_billhook_files" if given is None else f"_billhook_words {quote(' '.join(given))}"
            values.append(f"        {quote(f'{command.path}:{option}')}) {reply}; return ;;")
        options = quote(" ".join(command.options))
        files = quote(" ".join(command.words))
        words.append(f"        {quote(command.path)}) options={options}; words={files} ;;")
    return BASH.format(cases=_cases(commands), values="\n".join(values), words="\n".join(words))


def _zsh(commands: list[Completed]) -> str:
    values, words = [], []
    for command in commands:
        for option, given in command.values.items():
            reply = "_files" if given is None else f"compadd -- {' '.join(map(quote, given))}"
            values.append(f"        ({quote(f'{command.path}:{option}')}) {reply}; return ;;")
        options, after = ([_described(*item) for item in each.items()] for each in (command.options, command.words))
        words.append(f"        ({quote(command.path)}) options=({' '.join(options)}); words_=({' '.join(after)}) ;;")
    return ZSH.format(cases=_cases(commands), values="\n".join(values), words="\n".join(words))


def _described(word: str, text: str) -> str:
    return quote(f"{word}:{text}" if text else word)


def _fish(commands: list[Completed]) -> str:
    lines = []
    for command in commands:
        at = f"-n {quote(f'__billhook_is {quote(command.path)}')}"
        for word, text in command.words.items():
            lines.append(f"complete -c billhook {at} -f -a {quote(word)} -d {_fish_text(text)}")
        for option, text in command.options.items():
            name = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            if option in command.values:
                given = command.values[option]
                name += " -r" if given is None else f" -x -a {quote(' '.join(given))}"
            lines.append(f"complete -c billhook {at} {name} -d {_fish_text(text)}")
    cases = " ".join(quote(command.path) for command in commands if command.path)
    return FISH.format(cases=cases, lines="\n".join(lines))


def _fish_text(text: str) -> str:
    """Return a text in quotes as fish reads them."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


BASH = """\
# Completion of billhook in bash; in ~/.bashrc: eval "$(billhook completion bash)"
_billhook_words() {{
    COMPREPLY=($(compgen -W "$1" -- "$cur"))
}}

_billhook_files() {{
    compopt -o filenames 2>/dev/null
    local IFS=$'\\n'
    COMPREPLY=($(compgen -f -- "$cur"))
}}

_billhook() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} path= word options= words= i
    # --option=value comes as three words.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${{COMP_WORDS[COMP_CWORD - 2]}}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${{path:+$path }}${{COMP_WORDS[i]}}
        case $word in
        {cases}) path=$word ;;
        esac
    done
    case $path:$prev in
{values}
    esac
    case $path in
{words}
    esac
    if [[ $cur == -* ]]; then
        _billhook_words "$options"
    elif [[ -n $words ]]; then
        _billhook_words "$words"
    else
        _billhook_files
    fi
}}
complete -F _billhook billhook"""

ZSH = """\
#compdef billhook
# Completion of billhook in zsh; in ~/.zshrc, after compinit: eval "$(billhook completion zsh)"
_billhook() {{
    local before=$words[CURRENT-1] path_= word
    local -a options words_
    for word in "${{(@)words[2,CURRENT-1]}}"; do
        word=${{path_:+$path_ }}$word
        case $word in
        ({cases}) path_=$word ;;
        esac
    done
    case $path_:$before in
{values}
    esac
    case $path_ in
{words}
    esac
    if [[ $words[CURRENT] == -* ]]; then
        _describe option options
    elif (( $#words_ )); then
        _describe command words_
    else
        _files
    fi
}}
compdef _billhook billhook"""

FISH = """\
# Completion of billhook in fish; in ~/.config/fish/config.fish: billhook completion fish | source
function __billhook_is
    set -l path
    for word in (commandline -opc)[2..-1]
        set -l longer (string join ' ' $path $word)
        if contains -- $longer {cases}
            set path $longer
        end
    end
    test "$path" = "$argv[1]"
end
complete -c billhook -e
{lines}"""
