// The completion script for bash, 3.2 and later.
import type { CommandWords } from './command-tree.js';
import { posixTables } from './posix-tables.js';

export function bashScript(commands: readonly CommandWords[]): string {
  return `# Completion of tock for bash. Made by: tock completion bash

${posixTables(commands)}

# Offers the words that begin with $1 among the others, word:description. Where bash only lists them, with the descriptions.
_tock_described() {
  local current=$1 entry word width=0
  local -a found=()
  shift
  for entry; do
    word=\${entry%%:*}
    if [[ $word == "$current"* ]]; then
      found+=("$entry")
      ((\${#word} > width)) && width=\${#word}
    fi
  done
  for entry in "\${found[@]}"; do
    word=\${entry%%:*}
    case $COMP_TYPE in
      33 | 63 | 64)
        if ((\${#found[@]} > 1)); then
          printf -v word '%-*s  %s' "$width" "$word" "\${entry#*:}"
          word=\${word:0:\${COLUMNS:-80} - 2}
        fi
        ;;
    esac
    COMPREPLY+=("$word")
  done
}

# Offers the values of $kind and $choices that begin with $1.
_tock_values() {
  local last=$1 head= IFS=$' \\n'
  case $kind in
    names*) choices=$([[ -n $DATABASE_URL$DATABASE_URL_FILE ]] && tock completion --names "$choices" 2>/dev/null) ;;
  esac
  case $kind in
    files)
      IFS=$'\\n'
      COMPREPLY=($(compgen -f -- "$1"))
      compopt -o filenames 2>/dev/null
      return
      ;;
    any) return ;;
    *list)
      last=\${1##*,}
      head=\${1%"$last"}
      ;;
  esac
  COMPREPLY=($(compgen -P "$head" -W "$choices" -- "$last"))
}

_tock() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]}
  local at= word kind= choices= variadic= i position=0
  local -a subcommands flags
  COMPREPLY=()
  # bash makes three words of --option=value.
  if [[ $current == = ]]; then
    current=
  elif [[ $before == = ]] && ((COMP_CWORD > 2)); then
    before=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case $word in
      -*)
        if _tock_value "$at $word"; then
          [[ \${COMP_WORDS[i + 1]} == = ]] && ((i++))
          ((i++))
        fi
        ;;
      *)
        if ((position == 0)) && _tock_is "\${at:+$at }$word"; then
          at="\${at:+$at }$word"
        else
          ((position++))
        fi
        ;;
    esac
  done
  if [[ $before == -* ]] && _tock_value "$at $before"; then
    _tock_values "$current"
    return
  fi
  _tock_command "$at"
  if [[ $current == -* ]]; then
    _tock_described "$current" "\${flags[@]}"
  elif ((position == 0)) || [[ -n $variadic ]]; then
    if ((\${#subcommands[@]} > 0)); then
      _tock_described "$current" "\${subcommands[@]}"
    elif [[ -n $kind ]]; then
      _tock_values "$current"
    fi
  fi
}

complete -F _tock tock`;
}
