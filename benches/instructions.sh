#!/usr/bin/env bash
# The gate on speed: how many instructions the commands take for a byte of capture.
#
#   benches/instructions.sh                     fails when a figure is more than 5 % above benches/instructions.tsv
#   KAFKASCOPE_BLESS=1 benches/instructions.sh  writes the figures of now into that file
#
# Instructions, as valgrind counts them, are the same whatever else the machine does; times are not. They do depend on
# the compiler, so a new Rust version is a reason to bless, and a look at the difference a reason not to.
#
# Each command runs over a small capture of each mix, made by examples/big_capture with a fixed seed. What a start costs
# (the same command over a capture without packets) is measured for itself and taken off. The figures are in thousandths
# of an instruction for a byte, in thousands of instructions for a start, and in instructions for a record.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly SIZE=3MB TOLERANCE=5 FIGURES=benches/instructions.tsv
readonly MIXES=(produce fetch metadata small mixed) COMMANDS=(export list)
# Bytes of a record's value, and the codec.
readonly RECORDS=(100-none 100-zstd 1024-none 1024-zstd)

command -v valgrind >/dev/null || { echo "$0: valgrind is not installed" >&2; exit 2; }
cargo build --quiet --release --bin kafkascope --example big_capture
target=${CARGO_TARGET_DIR:-target}/release
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Instructions of a command line. Its output is thrown away; its exit code must be 0.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" >/dev/null 2>"$folder/log" ||
        { cat "$folder/log" >&2; return 1; }
    sed -n 's/.*Collected : //p' "$folder/log"
}

committed() { # command mix
    awk -F '\t' -v command="$1" -v mix="$2" '$1 == command && $2 == mix { print $3 }' "$FIGURES" 2>/dev/null || true
}

# Prints a figure beside the one that is committed, and keeps it; false when it is too high.
judge() { # command mix figure
    local before verdict=new
    before=$(committed "$1" "$2")
    printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$folder/figures"
    if [ -n "$before" ]; then
        verdict=$(awk -v now="$3" -v before="$before" 'BEGIN { printf "%+.1f %%", (now / before - 1) * 100 }')
    fi
    printf '%-8s%-10s%10s%10s  %s\n' "$1" "$2" "${before:--}" "$3" "$verdict"
    [ -z "$before" ] || [ $((before * (100 + TOLERANCE))) -ge $(($3 * 100)) ]
}

# The header of a pcap file alone.
printf '\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\0\0\4\0\1\0\0\0' >"$folder/empty.pcap"
for mix in "${MIXES[@]}"; do
    "$target/examples/big_capture" --size "$SIZE" --seed 1 --mix "$mix" "$folder/$mix.pcap" 2>/dev/null
done

worse=0
printf '%-8s%-10s%10s%10s\n' command mix committed now
for command in "${COMMANDS[@]}"; do
    "$target/kafkascope" "$command" --help >/dev/null 2>&1 || continue # not built yet
    start=$(instructions "$target/kafkascope" -q "$command" "$folder/empty.pcap")
    judge "$command" start $((start / 1000)) || worse=1
    for mix in "${MIXES[@]}"; do
        count=$(instructions "$target/kafkascope" -q "$command" "$folder/$mix.pcap")
        bytes=$(wc -c <"$folder/$mix.pcap")
        judge "$command" "$mix" $(((count - start) * 1000 / bytes)) || worse=1
    done
done

start=$(instructions "$target/kafkascope" -q export "$folder/empty.pcap")
for records in "${RECORDS[@]}"; do
    "$target/examples/big_capture" --size 2MB --connections 1 --seed 1 --mix produce --record-size "${records%-*}" \
        --codec "${records#*-}" "$folder/records.pcap" 2>/dev/null
    count=$(instructions "$target/kafkascope" -q export "$folder/records.pcap")
    total=$("$target/kafkascope" -q export "$folder/records.pcap" | grep -o '"offset":' | wc -l)
    judge record "$records" $(((count - start) / total)) || worse=1
done

if [ "${KAFKASCOPE_BLESS:-}" = 1 ]; then
    {
        printf '# Instructions: thousandths for a byte of capture, thousands for a start, ones for a record. Written by benches/instructions.sh.\n'
        printf '# %s\n' "$(rustc --version)"
        cat "$folder/figures"
    } >"$FIGURES"
    echo "written to $FIGURES"
elif [ "$worse" = 1 ]; then
    echo "$0: more than $TOLERANCE % above $FIGURES, which was written with: $(sed -n 's/^# \(rustc .*\)/\1/p' "$FIGURES")" >&2
    echo "Make it faster, or say in the commit why it is worth it: KAFKASCOPE_BLESS=1 $0" >&2
    exit 1
fi
