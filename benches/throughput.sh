#!/usr/bin/env bash
# Prints the tables of docs/performance.md: how fast export and list are on this machine, and what memory they take.
#
#   benches/throughput.sh [SIZE [RUNS]]    200MB and 5 runs if not given; 1GB more for the memory
#
# A figure is the median of the runs. User time is what the program itself took, whatever else the machine did.
# Captures lie in $TMPDIR while it runs, and are read once before they are measured.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly SIZE=${1:-200MB} RUNS=${2:-5}
readonly MIXES=(produce fetch metadata small mixed) COMMANDS=(export list)

[ -x /usr/bin/time ] || { echo "$0: /usr/bin/time is not installed" >&2; exit 2; }
cargo build --quiet --release --bin kafkascope --example big_capture
target=${CARGO_TARGET_DIR:-target}/release
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Wall seconds, user seconds and peak resident kilobytes of a command over a capture, without its output.
measure() { # command capture
    local TIMEFORMAT='%3R %3U'
    { time /usr/bin/time -f '%M' -o "$folder/peak" "$target/kafkascope" -q "$1" "$2" >/dev/null; } 2>"$folder/time"
    echo "$(cat "$folder/time") $(cat "$folder/peak")"
}

median() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }

built() { "$target/kafkascope" "$1" --help >/dev/null 2>&1; }

sed -n 's/^model name[^:]*: /CPU: /p' /proc/cpuinfo | head -1
rustc --version
echo
echo '| mix | command | messages | MB | MB/s, wall | MB/s, user | peak MB |'
echo '| --- | --- | ---: | ---: | ---: | ---: | ---: |'
for mix in "${MIXES[@]}"; do
    capture=$folder/capture.pcap
    "$target/examples/big_capture" --size "$SIZE" --mix "$mix" "$capture" 2>/dev/null
    bytes=$(wc -c <"$capture")
    messages=$("$target/kafkascope" -q export "$capture" | wc -l)
    for command in "${COMMANDS[@]}"; do
        if ! built "$command"; then
            echo "| $mix | $command | $messages | $((bytes / 1000000)) | - | - | - |"
            continue
        fi
        for _ in $(seq "$RUNS"); do measure "$command" "$capture"; done >"$folder/runs"
        wall=$(cut -d ' ' -f 1 "$folder/runs" | median)
        user=$(cut -d ' ' -f 2 "$folder/runs" | median)
        peak=$(cut -d ' ' -f 3 "$folder/runs" | median)
        awk -v mix="$mix" -v command="$command" -v messages="$messages" -v bytes="$bytes" -v wall="$wall" \
            -v user="$user" -v peak="$peak" 'BEGIN {
                printf "| %s | %s | %d | %d | %.0f | %.0f | %.1f |\n", mix, command, messages, bytes / 1e6,
                    bytes / 1e6 / wall, bytes / 1e6 / user, peak / 1000
            }'
    done
done

echo
echo '| capture of 1 GB | command | wall s | user s | peak MB |'
echo '| --- | --- | ---: | ---: | ---: |'
for options in '--mix mixed' '--mix small' '--mix mixed --connections 2000' '--mix mixed --loss 1 --reorder 10'; do
    # The options are words of their own.
    # shellcheck disable=SC2086
    "$target/examples/big_capture" --size 1GB $options "$folder/capture.pcap" 2>/dev/null
    for command in "${COMMANDS[@]}"; do
        built "$command" || continue
        measure "$command" "$folder/capture.pcap" | awk -v options="$options" -v command="$command" '{
            printf "| `%s` | %s | %.1f | %.1f | %.1f |\n", options, command, $1, $2, $3 / 1000
        }'
    done
done
