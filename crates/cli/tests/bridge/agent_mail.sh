#!/bin/sh
# A mail program that keeps its mail at an agent-mail server: each operation is a few calls over plain HTTP.
#
# AGENT_MAIL_URL is the server, GC_CITY the project, GC_AGENT who calls. Registration tokens are kept in the folder that
# BRIDGE_STATE names, and with them what was archived, for which such servers have no tool. It wants curl and jq.
set -eu

operation=${1-}
argument=${2-}
state=$BRIDGE_STATE
mkdir -p "$state"

fail() {
    echo "$1" >&2
    exit 1
}

# call TOOL ARGUMENTS: what the tool answers.
call() {
    answer=$(jq -cn --arg tool "$1" --argjson arguments "$2" \
        '{jsonrpc: "2.0", id: 1, method: "tools/call", params: {name: $tool, arguments: $arguments}}' |
        curl -sS -X POST "$AGENT_MAIL_URL/mcp/" -H 'Content-Type: application/json' --data-binary @-)
    if [ "$(printf '%s' "$answer" | jq '.error != null or .result.isError == true')" = true ]; then
        fail "$1: $(printf '%s' "$answer" | jq -r '.error.message // .result.content[0].text')"
    fi
    printf '%s' "$answer" | jq -r '.result.content[0].text'
}

# The file that keeps the token of a name.
kept() {
    printf '%s/%s.token' "$state" "$(printf '%s' "$1" | od -An -tx1 | tr -d ' \n')"
}

token() {
    if [ -e "$(kept "$1")" ]; then cat "$(kept "$1")"; fi
}

# register NAME: makes sure that there is such an agent, and keeps its token.
register() {
    [ -z "$(token "$1")" ] || return 0
    registered=$(call register_agent "$(jq -cn --arg project "$GC_CITY" --arg name "$1" \
        '{project_key: $project, name: $name, program: "gc", model: "bridge", task_description: null}')")
    printf '%s' "$registered" | jq -r .registration_token >"$(kept "$1")"
}

# mailbox NAME MORE: the mail of that name that was not archived, oldest first, in the form of this protocol.
mailbox() {
    touch "$state/archived"
    fetched=$(call fetch_inbox "$(jq -cn --arg project "$GC_CITY" --arg name "$1" --arg token "$(token "$1")" \
        --argjson more "$2" '{
            project_key: $project, agent_name: $name, registration_token: $token, include_bodies: true, limit: 100
        } + $more')")
    printf '%s' "$fetched" | jq -c --arg to "$1" --rawfile archived "$state/archived" '
        ($archived | split("\n")) as $gone | [.[] | {
            id: (.id | tostring), from, to: $to, subject, body: .body_md, created_at: .created_ts,
            read: (.read_ts != null), thread_id, reply_to: (.reply_to | if . then tostring else null end)
        } | select(.id as $id | $gone | index($id) | not)] | reverse'
}

# one ID: the message of that number in the mailbox of whoever calls.
one() {
    found=$(mailbox "$GC_AGENT" '{}')
    found=$(printf '%s' "$found" | jq -c --arg id "$1" '.[] | select(.id == $id)')
    [ -n "$found" ] || fail "gc-mail-error:not-found $1"
    printf '%s\n' "$found"
}

# marked ID: notes at the server that whoever calls has read it.
marked() {
    call mark_message_read "$(jq -cn --arg project "$GC_CITY" --arg name "$GC_AGENT" --arg id "$1" \
        --arg token "$(token "$GC_AGENT")" \
        '{project_key: $project, agent_name: $name, message_id: $id, registration_token: $token}')" >/dev/null
}

case $operation in
ensure-running)
    curl -fsS "$AGENT_MAIL_URL/health/liveness" >/dev/null
    call ensure_project "$(jq -cn --arg project "$GC_CITY" '{human_key: $project}')" >/dev/null
    ;;
send)
    words=$(cat)
    from=$(printf '%s' "$words" | jq -r .from)
    register "$from"
    register "$argument"
    # The server may say that nobody has to be acquainted.
    call macro_contact_handshake "$(jq -cn --arg project "$GC_CITY" --arg from "$from" --arg to "$argument" \
        --arg token "$(token "$from")" \
        '{project_key: $project, requester: $from, target: $to, auto_accept: true, requester_registration_token: $token}')" \
        >/dev/null
    sent=$(call send_message "$(printf '%s' "$words" | jq -c --arg project "$GC_CITY" --arg to "$argument" \
        --arg token "$(token "$from")" '{
            project_key: $project, sender_name: .from, sender_token: $token, to: [$to], subject, body_md: .body,
            importance: null, thread_id: null
        }')")
    printf '%s' "$sent" | jq -c --argjson words "$words" --arg to "$argument" \
        '{id: (.id | tostring), to: $to, created_at: .created_ts, read: false, thread_id} + $words'
    ;;
reply)
    words=$(cat)
    from=$(printf '%s' "$words" | jq -r .from)
    answered=$(one "$argument")
    sent=$(call reply_message "$(printf '%s' "$words" | jq -c --arg project "$GC_CITY" --arg id "$argument" \
        --arg token "$(token "$from")" '{
            project_key: $project, sender_name: .from, sender_token: $token, message_id: $id, subject, body_md: .body
        }')")
    printf '%s' "$sent" | jq -c --argjson words "$words" --argjson answered "$answered" '{
        id: (.id | tostring), to: $answered.from, created_at: .created_ts, read: false, thread_id,
        reply_to: $answered.id
    } + $words'
    ;;
inbox | check) mailbox "$argument" '{"unread_only": true}' ;;
all) mailbox "$argument" '{}' ;;
count) mailbox "$argument" '{}' | jq -c '{total: length, unread: ([.[] | select(.read | not)] | length)}' ;;
get) one "$argument" ;;
read)
    one "$argument" | jq -c '.read = true'
    marked "$argument"
    ;;
mark-read)
    one "$argument" >/dev/null
    marked "$argument"
    ;;
archive | delete)
    touch "$state/archived"
    if grep -qxF -- "$argument" "$state/archived"; then fail "$argument is already archived"; fi
    one "$argument" >/dev/null
    marked "$argument"
    printf '%s\n' "$argument" >>"$state/archived"
    ;;
*) exit 2 ;;
esac
