// The completion script for zsh: a file `_tock` in $fpath, or sourced after compinit.
import type { CommandWords } from './command-tree.js';
import { posixTables } from './posix-tables.js';

export function zshScript(commands: readonly CommandWords[]): string {
  return `#compdef tock
# Completion of tock for zsh. Made by: tock completion zsh

${posixTables(commands)}

# Offers the values of $kind and $choices.
_tock_values() {
  local -a found
  case $kind in
    names*) choices=$([[ -n $DATABASE_URL$DATABASE_URL_FILE ]] && tock completion --names "$choices" 2>/dev/null) ;;
  esac
  case $kind in
    files)
      _files
      return
      ;;
    any) return 1 ;;
    *list) compset -P '*,' ;;
  esac
  found=(\${=choices})
  compadd -a found
}

_tock() {
  local at= word before=\${words[CURRENT - 1]} kind= choices= variadic=
  local -i i position=0
  local -a subcommands flags
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    case $word in
      -*=*) ;;
      -*) if _tock_value "$at $word"; then ((i++)); fi ;;
      *)
        if ((position == 0)) && _tock_is "\${at:+$at }$word"; then
          at="\${at:+$at }$word"
        else
          ((position++))
        fi
        ;;
    esac
  done
  word=\${words[CURRENT]}
  if [[ $word == --*=* ]] && _tock_value "$at \${word%%=*}"; then
    compset -P '*='
    _tock_values
    return
  fi
  if [[ $before == -* ]] && _tock_value "$at $before"; then
    _tock_values
    return
  fi
  _tock_command "$at"
  if [[ $word == -* ]]; then
    _describe -o option flags
  elif ((position == 0)) || [[ -n $variadic ]]; then
    if ((\${#subcommands} > 0)); then
      _describe command subcommands
    elif [[ -n $kind ]]; then
      _tock_values
    fi
  fi
}

if [[ \${funcstack[1]} == _tock ]]; then
  _tock "$@"
elif ((\${+functions[compdef]})); then
  compdef _tock tock
else
  print -u2 'tock completion: run compinit first: autoload -Uz compinit && compinit'
fi`;
}
