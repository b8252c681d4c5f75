# Sends the input of a CLI's hook (JSON) to the Neovim that serves this CLI, and prints Neovim's answer, if any.
# usage, in a hook of the CLI, in bash 3.2 or later: . hook.sh <prefix of the CLI's variables> [notice]
#   notice: the CLI does not wait for an answer
#
# Finds Neovim as the CLI does: by the variables of Neovim's terminals, otherwise by Neovim's discovery files (see
# src/discovery/content.ts). For safety, uses only files and directories that belong to the user, and connects only to
# 127.0.0.1.
#
# Uses only builtins of bash (except for very large input), because starting programs is slow, and the CLI waits for
# each hook. Also, all users can see the arguments of a program, and these would contain the token. Prints no errors and
# always succeeds: the CLI would show errors, and would treat other exit codes as failures.

gb_prefix=$1 gb_query="pid=$PPID${2:+&$2}"
gb_body= gb_streams=

# Limits for the length of the JSON (bytes). If the JSON is longer than gb_buffer, a background process writes the
# request. If it is at least gb_large, curl sends the JSON, because bash would need too long to read it.
gb_buffer=131072 gb_large=524288

# Maximum number of discovery files, and maximum size of each (bytes).
gb_max_files=64 gb_max_file=8192

# Reads the CLI's JSON into gb_body. Reads only the beginning of a large text if curl can send the rest.
gb_read_body() {
  [[ -z $gb_body ]] || return
  # Stops reading at the limit, so that curl can send the rest. Bash 3 has no `read -N`: there, cat reads everything.
  IFS= read -r -N $gb_large gb_body || [[ -n $gb_body ]] || gb_body=$(cat)
  ((${#gb_body} >= gb_large)) || return
  if command -v curl > /dev/null; then gb_streams=1; else gb_body+=$(cat); fi
}

# Sends a request to the editor at a port, and sets gb_answer. Fails if no editor answers, if the editor refuses the
# token, or if another server has taken the port. If the answer does not arrive in time, sets gb_hung and succeeds.
gb_ask() { # arguments: port, token, method, body
  local head writer since=$SECONDS
  printf -v head '%s\r\n' "$3 /hook?$gb_query HTTP/1.1" "Host: 127.0.0.1:$1" "Authorization: Bearer $2" \
    'Content-Type: application/json' "Content-Length: ${#4}" 'Connection: close' ''
  gb_answer= gb_hung=
  {
    # Uses echo: printf would write each line separately, and wake the host each time. Writes larger bodies in the
    # background, because a host that hangs would not read them, and the hook would be blocked.
    if ((${#4} < gb_buffer)); then echo -n "$head$4" >&3; else echo -n "$head$4" >&3 & writer=$!; fi
    IFS= read -r -t 2 -d '' gb_answer <&3
    # Bash 3 does not report a timeout of `read`. Therefore, checks how much time has passed.
    [[ -n $gb_answer ]] || ((SECONDS - since < 2)) || gb_hung=$1:$2
    [[ -z $writer ]] || kill "$writer"
  } 3<> "/dev/tcp/127.0.0.1/$1"
  [[ -n $gb_hung || $gb_answer == 'HTTP/1.1 204 '* || $gb_answer == 'HTTP/1.1 200 '*$'\r\n\r\n{'* ]] ||
    [[ $3 == GET && $gb_answer == 'HTTP/1.1 405 '* ]]
}

# Sends the JSON to the editor at a port. Fails if the caller should try another editor.
gb_tell() { # arguments: port, token
  gb_read_body
  if [[ -n $gb_streams ]]; then
    # First asks whether this is the right editor, because the rest of the JSON can be read and sent only once.
    gb_ask "$1" "$2" GET '' || return
    [[ $gb_answer == 'HTTP/1.1 405 '* ]] || return 0
    { echo -n "$gb_body" && exec cat; } |
      curl -q -sf -m 2 --noproxy '*' -K /dev/fd/3 -X POST -T - -H 'Content-Type: application/json' -H 'Expect:' \
        "http://127.0.0.1:$1/hook?$gb_query" 3<<< "header = \"Authorization: Bearer $2\""
    return 0
  fi
  gb_ask "$1" "$2" POST "$gb_body" || return
  [[ $gb_answer != 'HTTP/1.1 200 '* ]] || printf %s "${gb_answer#*$'\r\n\r\n'}"
}

# Sets gb_files to the discovery files of all editors. Fails if their directory cannot be trusted.
gb_list() {
  local parent=${TMPDIR:-${TMP:-${TEMP:-/tmp}}} names
  case $gb_prefix in
    GEMINI_CLI_IDE) parent=${parent%/}/gemini names='gemini-ide-server-*-*.json' ;;
    QWEN_CODE_IDE) parent=${QWEN_HOME:-$HOME/.qwen} names='*.lock' ;;
    *) return 1 ;; # hooks of other CLIs find Neovim only by the variables
  esac
  [[ $parent != '~/'* ]] || parent=$HOME/${parent#'~/'}
  # Refuses a symbolic link in the temporary directory, because another user could have created the link. Accepts a link
  # in the user's home.
  [[ $gb_prefix == QWEN_CODE_IDE || ! -L $parent ]] || return
  [[ $parent == /* && -O $parent && -O $parent/ide && ! -L $parent/ide ]] || return
  gb_files=("$parent"/ide/$names)
  gb_files=("${gb_files[@]:0:gb_max_files}")
}

# Sets gb_port, gb_roots and gb_token from a discovery file. Fails if the file is not from Neovim.
gb_read_file() { # argument: path
  local rest head quote='"' escaped='\"'
  [[ -f $1 && -O $1 && ! -L $1 ]] || return
  IFS= read -r -n $gb_max_file rest < "$1"
  # Uses no regular expression, because it would take five times as long.
  head=${rest%%',"workspacePath":"'*} rest=${rest:${#head}+18}
  gb_port=${head#'{"port":'}
  gb_roots=${rest%%'","authToken":"'*} rest=${rest:${#gb_roots}+15}
  gb_token=${rest%%'"'*}
  gb_is_address "$gb_port" "$gb_token" || return
  [[ $rest == *'"ideInfo":{"name":"neovim",'* ]] || return
  [[ $gb_roots != *\\* ]] || printf -v gb_roots %b "${gb_roots//"$escaped"/$quote}"
}

# Succeeds if the arguments are a valid port and token. A valid token contains no characters that could change a request
# or a path.
gb_is_address() { # arguments: port, token
  [[ $1 == [1-9]* && $1 != *[!0-9]* && ${#1} -le 5 && -n $2 && $2 != *[!A-Za-z0-9_-]* ]]
}

# Succeeds if the current directory is inside one of gb_roots. They are a JSON array if one of them contains a colon.
gb_is_inside() {
  local rest=$gb_roots end=: root directory quote='"' escaped='\"'
  [[ $rest != '["'*'"]' ]] || rest=${rest:2:${#rest}-4} end='","'
  rest+=$end
  while [[ -n $rest ]]; do
    root=${rest%%"$end"*} rest=${rest#*"$end"} directory=$PWD
    [[ $root == /* ]] || continue
    [[ $end == : || $root != *\\* ]] || printf -v root %b "${root//"$escaped"/$quote}"
    while [[ ! ${directory:-/} -ef $root ]]; do
      [[ -n $directory ]] || continue 2
      directory=${directory%/*}
    done
    return 0
  done
  return 1
}

# Sets gb_above to process ids: first the editor's id in the CLI's variable, then the ids of all ancestors of the hook,
# the nearest first. The ancestors are known only if /proc exists.
gb_list_above() {
  local variable=${gb_prefix}_PID pid=$PPID stat
  gb_above=(${!variable//[!0-9]/})
  while [[ $pid != *[!0-9]* && $pid != [01] && ${#gb_above[@]} -lt 64 ]] && IFS= read -r stat < "/proc/$pid/stat"; do
    gb_above+=("$pid")
    stat=${stat##*) } # "pid (name) state parent": the name may contain any character
    stat=${stat#* } pid=${stat%% *}
  done
}

# Sends the JSON to editors with discovery files until an editor accepts it. Tries the ancestors of the hook first, then
# the editors that have the current directory open. Stops at an editor that hangs, so that no other editor answers in
# its place.
gb_search() { # argument: gb_hung after the attempt with the variables
  local hung=$1 pid file files=() ranks=() i best
  gb_list || return
  gb_list_above
  for pid in "${gb_above[@]}"; do
    for file in "${gb_files[@]}"; do
      [[ $file == */gemini-ide-server-"$pid"-* ]] && gb_read_file "$file" || continue
      [[ $gb_port:$gb_token == "$hung" ]] || gb_tell "$gb_port" "$gb_token" && return
    done
  done

  cd -P .
  for file in "${gb_files[@]}"; do
    gb_read_file "$file" || continue
    [[ $gb_port:$gb_token != "$hung" ]] || return
    gb_is_inside || continue
    # Chooses the editor as the CLIs do. Gemini CLI prefers editors whose process is alive, then the largest process id.
    # Qwen Code prefers the newest discovery file.
    pid=${file##*/gemini-ide-server-} pid=${pid%%-*}
    [[ $pid == [1-9]* && $pid != *[!0-9]* && ${#pid} -le 10 ]] || pid=0
    files+=("$file") ranks+=("$pid")
    [[ $pid == 0 ]] || ! kill -0 "$pid" || ((ranks[${#ranks[@]} - 1] += 10000000000))
  done
  while ((${#files[@]})); do
    best=
    for i in "${!files[@]}"; do
      if [[ -z $best ]] || ((ranks[i] > ranks[best])) ||
        { ((ranks[i] == ranks[best])) && [[ ${files[i]} -nt ${files[best]} ]]; }; then
        best=$i
      fi
    done
    gb_read_file "${files[best]}" && gb_tell "$gb_port" "$gb_token" && return
    unset "files[best]"
  done
}

gb_main() {
  local LC_ALL=C # lengths are bytes
  local port=${gb_prefix}_SERVER_PORT token=${gb_prefix}_AUTH_TOKEN
  trap '' PIPE # otherwise, the hook fails if the editor closes the connection
  gb_is_address "${!port}" "${!token}" && gb_tell "${!port}" "${!token}" && [[ -z $gb_hung ]] || gb_search "$gb_hung"
}

gb_main 2> /dev/null

:
