# Takes what a CLI tells its hook to the Neovim in whose terminal the CLI runs, and prints that Neovim's answer, if any.
# usage, by a hook of the CLI's, in bash: . hook.sh <prefix of the variables that name port and token> [notice]
# notice: nothing is to be answered, and the CLI goes on at once
#
# As good as only builtins: a CLI waits for each of its hooks, and a builtin's arguments are in no list of processes, so
# that the token is not, either. Whatever goes wrong goes unsaid: a CLI shows the user what a hook prints, and takes an
# exit code other than 0 for the failure of its own work.

gb_port=${1}_SERVER_PORT gb_token=${1}_AUTH_TOKEN

gb_send() {
  local host=127.0.0.1:${!gb_port} path="/hook?pid=$PPID${1:+&$1}" token="Authorization: Bearer ${!gb_token}"
  local body head answer max=524288
  local LC_ALL=C # lengths are bytes
  # It takes no byte more than it gives. Bash 3 does not know -N.
  IFS= read -r -N $max body || [[ -n $body ]] || body=$(cat)
  if ((${#body} >= max)) && command -v curl > /dev/null; then # for megabytes bash is too slow by far
    { echo -n "$body" && exec cat; } |
      curl -q -sf -m 2 --noproxy '*' -K /dev/fd/3 -X POST -T - -H 'Content-Type: application/json' -H 'Expect:' \
        "http://$host$path" 3<<< "header = \"$token\""
    return
  fi
  ((${#body} < max)) || body+=$(cat)
  printf -v head '%s\r\n' "POST $path HTTP/1.1" "Host: $host" "$token" 'Content-Type: application/json' \
    "Content-Length: ${#body}" 'Connection: close' ''
  {
    # printf would write each line, and wake the host for it. More than the system buffers is written beside: a host
    # that hangs reads no more.
    if ((${#body} < 131072)); then echo -n "$head$body" >&3; else echo -n "$head$body" >&3 & fi
    IFS= read -r -t 2 -d '' answer <&3
    kill "$!"
  } 3<> "/dev/tcp/127.0.0.1/${!gb_port}"
  [[ $answer != 'HTTP/1.1 200 '* ]] || printf %s "${answer#*$'\r\n\r\n'}"
}

[[ -z ${!gb_port} || -z ${!gb_token} ]] || gb_send "$2" 2> /dev/null

:
