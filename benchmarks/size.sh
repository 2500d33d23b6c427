#!/bin/bash
# Measures the bytes that allocators add to a program for a microcontroller, built by arm-none-eabi-g++ -Os without
# exceptions, RTTI and unused sections. Each row is an allocator over 1 KiB of static storage. Each column except the
# last three is the growth in flash by one more operation (size/program.cpp): code, constants and tables.
#     libraries   the part of it from the C and C++ libraries and libgcc, such as memcpy
#     data        the part of it that is copied from flash to RAM at startup
#     records     RAM in addition to the 1 KiB
# Then measures the instructions of single operations under stress (size/cycles.cpp) with the core's timer, SysTick, in
# QEMU. With -icount shift=0, an instruction takes 1 ns, and a tick is 40 or 62 instructions. With shift=8, an
# instruction takes 256 ns, which is 6 or 4 ticks, so that single instructions are distinguishable. The program
# determines the ratio with a loop of known length.
# usage: size.sh [--check]     --check: measures only the subjects with targets; fails if one exceeds its target. Exits
# with 77 without the compiler.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
board=$here/../examples/apps/firmware/board
operations=(construct allocate deallocate diagnose resize)
managed=1024

# core, linker script, board in QEMU, options of the compiler
cores=(
    "M0+  microbit  microbit    -mcpu=cortex-m0plus"
    "M4   mps2_an386 mps2-an386  -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16"
)
# subject                      header of size/   number of its operations
subjects=(
    "nothing                         nothing   5"
    "by_hand::bump                   by_hand   3"
    "by_hand::bump_zero              by_hand   3"
    "of_allot::bump                  of_allot  4"
    "of_pmr::monotonic               of_pmr    3"
    "by_hand::free_list              by_hand   3"
    "of_allot::pool_one_size         of_allot  4"
    "by_hand::free_list_checked      by_hand   3"
    "of_allot::pool                  of_allot  4"
    "of_allot::pool_index_stack      of_allot  4"
    "of_allot::pool_bitmap           of_allot  4"
    "of_pmr::pool                    of_pmr    3"
    "of_allot::stack                 of_allot  4"
    "of_allot::ring                  of_allot  4"
    "by_hand::first_fit_list         by_hand   3"
    "of_allot::best_fit              of_allot  5"
    "of_allot::best_fit_side_table   of_allot  5"
    "of_allot::deferred              of_allot  5"
    "by_hand::arrays                 by_hand   3"
    "of_allot::planned               of_allot  4"
)
# subject, operation; the subject with the reference size, and for each core the allowed additional bytes (-: no target)
targets=(
    "of_allot::bump           all       by_hand::bump               0      0"
    "of_allot::pool_one_size  all       by_hand::free_list          16     16"
    "of_allot::pool           all       by_hand::free_list_checked  16     16"
    "of_allot::best_fit       all       nothing                     -      1200"
    "of_allot::planned        allocate  by_hand::arrays             0      0"
)
# subject, header, largest size, largest alignment, order of deallocations
stressed=(
    "by_hand::bump                  by_hand   64   8   all"
    "of_allot::bump                 of_allot  64   8   all"
    "of_allot::stack                of_allot  64   8   newest"
    "of_allot::ring                 of_allot  64   8   oldest"
    "by_hand::free_list_checked     by_hand   32   8   any"
    "of_allot::pool                 of_allot  32   8   any"
    "of_allot::pool_one_size        of_allot  32   8   any"
    "of_allot::pool_index_stack     of_allot  32   8   any"
    "of_allot::pool_bitmap          of_allot  32   8   any"
    "by_hand::first_fit_list        by_hand   256  8   any"
    "of_allot::best_fit             of_allot  256  8   any"
    "of_allot::best_fit             of_allot  256  64  any"
    "of_allot::best_fit_side_table  of_allot  256  8   any"
    "of_allot::deferred             of_allot  256  8   any"
)

flags=(-mthumb -std=c++20 -Os -DNDEBUG -fno-exceptions -fno-rtti -fno-threadsafe-statics -ffunction-sections -fdata-sections
    -Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror -I "$here/../include" -I "$here/../examples/apps")
link=(-nostartfiles -Wl,--gc-sections -Wl,--no-warn-rwx-segments -L "$board")

# Bytes of flash from archives; in the map, a long section name is on its own line.
of_libraries() { # MAP
    local size sum=0
    while read -r size; do sum=$((sum + size)); done < <(awk '
        /^Linker script and memory map/ { inside = 1 }
        /^ [.*]/ { section = $1 }
        inside && section ~ /^\.(text|rodata)/ && /\.a\(/ && $(NF - 2) !~ /^0x0+$/ { print $(NF - 1) }' "$1")
    echo "$sum"
}

# Measures one program: core, subject and number of operations; bytes of flash, of data in it, of RAM, of flash from
# libraries.
measure() { # DIRECTORY CORE SCRIPT SUBJECT HEADER OPERATIONS OPTIONS...
    local directory=$1 core=$2 script=$3 subject=$4 header=$5 count=$6 libraries=(--specs=nano.specs) program
    shift 6
    program=$directory/$core.${subject//:/_}.$count
    if [[ $header == of_pmr ]]; then libraries+=(--specs=nosys.specs -Wl,--defsym=end=bss_end); fi # its heap
    arm-none-eabi-g++ "$@" "${flags[@]}" -include "$here/size/$header.hpp" -DSUBJECT="$subject" -DOPERATIONS="$count" \
        "$here/size/program.cpp" "$directory/$core".*.o "${link[@]}" "${libraries[@]}" -T "$script.ld" \
        -Wl,-Map="$program.map" -o "$program.elf" 2>"$program.log" || { cat "$program.log" >&2 && return 255; }
    arm-none-eabi-size -A "$program.elf" |
        awk -v name="$core $subject $count" -v libraries="$(of_libraries "$program.map")" '
            /^\.(text|ARM\.ex|init_array|rodata)/ { flash += $2 }
            /^\.data/ { data = $2 }
            /^\.bss/ { bss = $2 }
            END { print name, flash + data, data, data + bss, libraries }'
}

# Prints the instructions of one subject under stress, as cycles.cpp does.
stress() { # DIRECTORY CORE SCRIPT BOARD SUBJECT HEADER LARGEST ALIGN GIVEN_BACK OPTIONS...
    local directory=$1 core=$2 script=$3 board=$4 subject=$5 header=$6 largest=$7 align=$8 given_back=$9 program
    shift 9
    program=$directory/$core.${subject//:/_}.$align.cycles.elf
    arm-none-eabi-g++ "$@" "${flags[@]}" -include "$here/size/$header.hpp" -DSUBJECT="$subject" \
        -DLARGEST="$largest" -DALIGN="$align" -DGIVEN_BACK="$given_back" "$here/size/cycles.cpp" "$directory/$core".*.o \
        "${link[@]}" --specs=nano.specs -T "$script.ld" -o "$program"
    timeout 120 qemu-system-arm -M "$board" -nographic -semihosting-config enable=on,target=native -icount shift=8 \
        -kernel "$program" </dev/null 2>&1 # semihosting prints to stderr
}

stress_all() {
    local each core script board options name header largest align given_back counts
    for each in "${cores[@]}"; do
        read -r core script board options <<<"$each"
        read -ra options <<<"$options"
        printf '%-56s %16s %16s\n' "Cortex-$core, instructions: worst, mean" allocate deallocate
        for each in "${stressed[@]}"; do
            read -r name header largest align given_back <<<"$each"
            read -ra counts < <(stress "$directory" "$core" "$script" "$board" "$name" "$header" "$largest" "$align" \
                "$given_back" "${options[@]}")
            printf '%-56s %8d %7d %8d %7d\n' "${name//:://}, sizes to $largest, alignments to $align" "${counts[@]:0:4}"
        done
        echo
    done
}

# Formats lines 'core subject count ...' as tables, and checks the targets.
report() { # CHECK
    awk -v check="$1" -v operations="${operations[*]}" -v managed=$managed -v targets="$(printf '%s;' "${targets[@]}")" '
        function total(core, subject, of) {
            if (of == "allocate") return upto(core, subject, 2) - upto(core, subject, 1)
            return upto(core, subject, 3)
        }
        function upto(core, subject, o) { return flash[core, subject, o] - flash[core, "nothing", o] }
        function name(subject) { gsub("::", "/", subject); return subject }
        {
            if (!($1 in seen)) { seen[$1]; cores[++core_count] = $1 }
            if (!($2 in known)) { known[$2]; subjects[++subject_count] = $2 }
            flash[$1, $2, $3] = $4; data[$1, $2, $3] = $5; ram[$1, $2, $3] = $6; libraries[$1, $2, $3] = $7
            if ($3 > last[$2]) last[$2] = $3
        }
        END {
            operation_count = split(operations, operation, " ")
            for (c = 1; c <= core_count && !check; ++c) {
                core = cores[c]
                printf "%-32s", "Cortex-" core ", bytes"
                for (o = 1; o <= operation_count; ++o) printf " %10s", operation[o]
                printf " %10s %5s %8s\n", "libraries", "data", "records"
                for (s = 1; s <= subject_count; ++s) {
                    subject = subjects[s]
                    if (subject == "nothing") continue
                    printf "%-32s", name(subject)
                    before = 0
                    for (o = 1; o <= operation_count; ++o) {
                        if (o > last[subject]) { printf " %10s", ""; continue }
                        now = flash[core, subject, o] - flash[core, "nothing", o]
                        printf " %10d", now - before
                        before = now
                    }
                    o = last[subject]
                    printf " %10d %5d %8d\n", libraries[core, subject, o] - libraries[core, "nothing", o],
                           data[core, subject, o] - data[core, "nothing", o],
                           ram[core, subject, o] - ram[core, "nothing", o] - managed
                }
                print ""
            }
            count = split(targets, line, ";") - 1
            printf "%-64s %8s %8s\n", "targets, bytes", "limit", "actual"
            for (c = 1; c <= core_count; ++c) for (t = 1; t <= count; ++t) {
                split(line[t], part, " ")
                if (part[3 + c] == "-") continue
                base = total(cores[c], part[3], part[2])
                limit = base + part[3 + c]
                has = total(cores[c], part[1], part[2])
                missed += has > limit
                what = part[2] == "all" ? "construct, allocate, deallocate" : part[2]
                printf "%-4s %-24s %-34s %8d %8d%s\n", cores[c], name(part[1]), what, limit, has, (has > limit ? "  missed" : "")
            }
            exit missed > 0
        }'
}

if [[ ${1-} == --measure ]]; then
    measure "${@:2}"
    exit
fi
check=
if [[ ${1-} == --check ]]; then check=1; fi
command -v arm-none-eabi-g++ >/dev/null || { echo "skipped: no arm-none-eabi-g++" && exit 77; }
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

for each in "${cores[@]}"; do
    read -r core script _ options <<<"$each"
    read -ra options <<<"$options"
    for source in "$board"/*.cpp; do
        arm-none-eabi-g++ "${options[@]}" "${flags[@]}" -c "$source" -o "$directory/$core.$(basename "$source" .cpp).o"
    done
    for subject in "${subjects[@]}"; do
        read -r name header count <<<"$subject"
        [[ ! $check || " ${targets[*]} " == *" $name "* ]] || continue
        for ((i = 1; i <= (check ? 3 : count); ++i)); do
            echo "$directory $core $script $name $header $i ${options[*]}"
        done
    done
done | xargs -P "$(nproc)" -L 1 "${BASH_SOURCE[0]}" --measure >"$directory/sizes" || exit 1
# In the order of the table, because programs finish in any order
for each in "${cores[@]}"; do
    for subject in "${subjects[@]}"; do
        grep "^${each%% *} ${subject%% *} " "$directory/sizes" | sort -n -k3 || true
    done
done | report "$check" || missed=1
if [[ ! $check ]]; then
    echo
    if command -v qemu-system-arm >/dev/null; then stress_all; else echo "skipped: no qemu-system-arm"; fi
fi
exit "${missed:-0}"
