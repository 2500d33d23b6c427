// Tests of the code that benchmarks share: replays, their check, extents, the command line, and traces by name.
#include "../../../benchmarks/replay_advice.hpp"
#include "../../../benchmarks/replay_arguments.hpp"
#include "../../../benchmarks/replay_by_hand.hpp"
#include "../../../benchmarks/trace_files.hpp"

#include "../../unit/plan/problems.hpp"

#include <doctest/doctest.h>

namespace {

using namespace benchmarks;

workload workload_of(const allot::trace_writer& writer) {
    return closed("written", allot::read_trace(writer.bytes()).value);
}

/// Three blocks of 1024 bytes, of which the middle one stays allocated; then one of 2048 bytes, which fits neither
/// hole.
workload three_and_a_larger_one() {
    allot::trace_writer writer;
    const auto low = writer.allocate(1024);
    writer.allocate(1024);
    const auto high = writer.allocate(1024);
    writer.deallocate(low);
    writer.deallocate(high);
    writer.allocate(2048);
    return workload_of(writer);
}

/// Returns the offsets of `Next`.
template <class Next>
struct made_up {
    using block = std::uint64_t;
    static constexpr bool bounded = true, in_memory = false;
    made_up(std::uint64_t, const allot::trace&) {}
    bool allocate(std::uint64_t size, std::size_t, block& to) { return next_(size, to); }
    void deallocate(block, const allot::trace_operation&) {}
    static std::uint64_t position(block held) { return held; }

private:
    Next next_{};
};
struct refuses {
    bool operator()(std::uint64_t, std::uint64_t&) const { return false; }
};
struct gives_the_same_twice {
    std::uint64_t calls = 0;
    bool operator()(std::uint64_t, std::uint64_t& to) {
        to = calls++ / 2 * 4096;
        return true;
    }
};
struct gives_what_overlaps_by_a_byte {
    std::uint64_t end = 1;
    bool operator()(std::uint64_t size, std::uint64_t& to) {
        to = end - 1;
        end = to + size;
        return true;
    }
};
struct gives_odd_offsets {
    std::uint64_t end = 1;
    bool operator()(std::uint64_t size, std::uint64_t& to) {
        to = end;
        end += size;
        return true;
    }
};

std::string what(const std::string& name) {
    try {
        return trace_of(name).warning;
    } catch (const std::exception& error) {
        return error.what();
    }
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string shipped(const std::string& name) {
    return (std::filesystem::path{__FILE__}.parent_path() / "../../../benchmarks" / "traces" / name).string();
}

}  // namespace

TEST_CASE("replay: the measured extent equals the one computed by hand") {
    const workload of = three_and_a_larger_one();
    REQUIRE(of.trace.peak == 3072);
    // Best fit: bytes 0 to 1024 are free, the middle block follows, and then 2048 bytes: 4096 bytes in total.
    CHECK(extent_over_peak<set_best_fit>(of) == doctest::Approx(4096.0 / 3072));
    // An allocator that reclaims nothing before the end needs the sum.
    CHECK(extent_over_peak<bump_by_hand>(of) == doctest::Approx(5120.0 / 3072));
    CHECK(extent_over_peak<made_up<refuses>>(of) == 0);
    CHECK(fits<set_best_fit>(of, 4096));
    CHECK_FALSE(fits<set_best_fit>(of, 4095));
}

TEST_CASE("replay: a trace is closed, so that it can be repeated") {
    const workload of = three_and_a_larger_one();
    CHECK(of.events == 6);
    CHECK(of.size == 0);  // the sizes differ
    CHECK_FALSE(of.drops);
    set_best_fit on{4096, of.trace};
    std::vector<set_best_fit::block> blocks(of.trace.slots);
    for (int round = 0; round != 3; ++round) CHECK(replay(on, of.trace, blocks.data()));

    allot::trace_writer writer;
    writer.allocate(64);
    writer.reset();
    writer.allocate(64);
    CHECK(workload_of(writer).drops);
    CHECK(workload_of(writer).size == 64);
}

TEST_CASE("replay: the check detects overlaps, misaligned blocks and failures") {
    const workload of = three_and_a_larger_one();
    const verdict good = check<set_best_fit>(of, 4096);
    CHECK(good.complete);
    CHECK(good.overlaps == 0);
    CHECK(good.misaligned == 0);
    CHECK_FALSE(check<set_best_fit>(of, 4095).complete);
    CHECK_FALSE(check<made_up<refuses>>(of, 4096).complete);
    CHECK(check<made_up<gives_the_same_twice>>(of, 0).overlaps > 0);
    CHECK(check<made_up<gives_what_overlaps_by_a_byte>>(of, 0).overlaps > 0);
    const verdict odd = check<made_up<gives_odd_offsets>>(of, 0);
    CHECK(odd.overlaps == 0);
    CHECK(odd.misaligned == 4);
}

TEST_CASE("replay: slots equal those computed by hand") {
    allot::trace_writer writer;
    std::vector<std::uint64_t> held;
    problems::random random{3};
    for (int i = 0; i != 20'000; ++i) {
        if (held.size() < 5000) {
            held.push_back(writer.allocate(64));
        } else {
            std::swap(held[random.index(held.size())], held.back());
            writer.deallocate(held.back());
            held.pop_back();
        }
    }
    const workload of = workload_of(writer);
    const auto is_tight = [&](verdict all, verdict one_less) {
        CHECK(all.complete);
        CHECK(all.overlaps + all.misaligned == 0);
        CHECK_FALSE(one_less.complete);
    };
    is_tight(check<free_list_by_hand>(of, 5000 * 64), check<free_list_by_hand>(of, 4999 * 64));
    is_tight(check<index_stack_by_hand<64>>(of, 5000 * 64), check<index_stack_by_hand<64>>(of, 4999 * 64));
    is_tight(check<bitmap_by_hand<64>>(of, 5000 * 64), check<bitmap_by_hand<64>>(of, 4999 * 64));
}

TEST_CASE("replay: parses the command line and reports errors in it") {
    const std::vector<std::string> names{"quick", "small"};
    const replay_arguments asked = parse({"--allocator", "small", "a.altr", "--group", "pool", "b.altr"}, names);
    CHECK(asked.wrong.empty());
    CHECK(asked.traces == std::vector<std::string>{"a.altr", "b.altr"});
    CHECK(asked.has("small", subject_group::pool));
    CHECK(asked.has("small", subject_group::pool_beside));
    CHECK_FALSE(asked.has("quick", subject_group::pool));
    CHECK_FALSE(asked.has("small", subject_group::bump));
    CHECK(parse({}, names).has("quick", subject_group::best_fit_beside));

    const std::string unknown = parse({"--allocator", "nobody", "a.altr"}, names).wrong;
    CHECK(has(unknown, "nobody"));
    CHECK(has(unknown, "quick, small"));
    CHECK(has(parse({"--group", "stack"}, names).wrong, "bump, pool, best_fit"));
    CHECK(has(parse({"a.altr", "--allocator"}, names).wrong, "--allocator"));
    CHECK(has(parse({"--fast"}, names).wrong, "--fast"));
}

TEST_CASE("replay: finds traces by name") {
    CHECK(trace_of("logn100").trace.operations.size() == 6000);
    CHECK(trace_of("logn100:7").trace.peak == trace_of("logn100:7").trace.peak);
    CHECK(trace_of("logn100:7").trace.peak != trace_of("logn100:8").trace.peak);
    CHECK(trace_of("gpu50").trace.least_align == 256);
    CHECK(has(what("logn100:x"), "the seed is not a number"));
    CHECK(has(what("nowhere.altr"), "no such file or synthetic trace"));
    CHECK(has(what(std::filesystem::temp_directory_path().string()), "is a directory, not a trace"));

    const auto path = (std::filesystem::temp_directory_path() / "allot_replay_test.altr").string();
    std::ofstream{path, std::ios::binary}
        << "ALTR1\n\x02\x01\x40\x06";  // two events: a block, and one is freed that is not there
    CHECK(has(what(path), std::string{"an event refers to a block before the first one"}));
    CHECK(has(what(path), "at byte 9"));
    std::ofstream{path, std::ios::binary}.close();  // empty
    CHECK(has(what(path), "at byte 0"));
    std::ofstream{path, std::ios::binary} << "ALTR1\n\x02\x01";  // the end is missing
    CHECK(has(what(path), "at byte 8"));

    // What was read before an error is kept.
    std::ofstream{path, std::ios::binary} << "ALTR1\n\x03\x02\x40\x80\x02\x82";  // 16 and 64 bytes; the third is cut
    CHECK(trace_of(path).trace.operations.size() == 2);
    CHECK(trace_of(path).trace.peak == 80);
    CHECK(has(what(path), "the bytes end before the last record, at byte 11"));
    CHECK(has(what(path), "only the 2 operations before it are replayed"));

    // Valid traces without a sensible replay.
    std::ofstream{path, std::ios::binary} << std::string("ALTR1\n\0\0", 8);
    CHECK(has(what(path), "it has no allocations"));
    std::ofstream{path, std::ios::binary} << "ALTR1\n\x01\x01\x41\x1F";  // 16 bytes, aligned to 2 GiB
    CHECK(has(what(path), "an alignment exceeds 1 GiB"));
    std::ofstream{path, std::ios::binary} << "ALTR1\n\x01\x01\x80\x80\x80\x80\x80\x80\x80\x80\x04";  // 2^56 bytes
    CHECK(has(what(path), "more than 64 PiB are live"));
    std::ofstream{path + ".xz", std::ios::binary} << "not compressed";
    CHECK(has(what(path + ".xz"), "xz cannot decompress all of it; the bytes are of another format"));
    std::filesystem::remove(path + ".xz");
    std::filesystem::remove(path);
}

TEST_CASE("replay: the shipped traces are valid") {
    for (const char* name : {"gpu50.altr", "logn100.altr"}) {
        const workload of = closed(name, trace_of(shipped(name)).trace);
        CHECK(of.events >= 4000);
        const verdict seen = check<set_best_fit>(of, of.trace.peak * 2);
        CHECK(seen.complete);
        CHECK(seen.overlaps == 0);
        CHECK(seen.misaligned == 0);
    }
}

namespace {

row measured(const char* name, subject_group group, double least, double extent, const char* type = "") {
    return {.trace = "t",
            .name = name,
            .honours = "",
            .type = type,
            .group = group,
            .least = least,
            .median = least,
            .extent = extent,
            .seen = {.complete = true}};
}

}  // namespace

TEST_CASE("replay advice: names the fastest, the tightest, those in between, and their costs") {
    const auto heap = subject_group::best_fit, beside = subject_group::best_fit_beside;
    std::vector<row> rows{measured("tight", heap, 40, 1.05, "tight<>"),  measured("slow", heap, 60, 1.5, "slow<>"),
                          measured("middle", heap, 20, 1.2, "middle<>"), measured("glibc_malloc", heap, 30, 0),
                          measured("quick", heap, 10, 0, "quick<>"),     measured("also", heap, 10.5, 0),
                          measured("wide", heap, 25, 1.3, "wide<>"),     measured("gpu", beside, 5, 1.01, "gpu<>")};
    rows.push_back(measured("broken", heap, 0, 0));
    rows.back().seen.complete = false;
    rows.push_back(measured("crooked", heap, 1, 1));
    rows.back().seen.misaligned = 3;
    const std::string expected = R"(
Advice for t:
  memory that the host can access
- Fastest: quick, 10.00 ns an operation, 20 ms for the trace. Within 5 %: also.
        quick<>
- malloc of glibc: 30.00 ns an operation, 3.00x the time of the fastest; a change saves 40 ms for the trace.
- Tightest: tight, 5.0 % over the peak of live bytes (500 bytes more), 40.00 ns an operation, 4.00x the fastest.
- The choice is between these: each other one with a measured extent is slower and not tighter.
    middle: 20.00 ns an operation, 20.0 % over the peak of live bytes (2000 bytes more)
        middle<>
    tight: 40.00 ns an operation, 5.0 % over the peak of live bytes (500 bytes more)
        tight<>
  offsets only, for memory that the host cannot access
- Fastest: gpu, 5.00 ns an operation, 10 ms for the trace.
        gpu<>
- Tightest: gpu, 1.0 % over the peak of live bytes (100 bytes more), 5.00 ns an operation, 1.00x the fastest.
- The choice is between these: each other one with a measured extent is slower and not tighter.
    gpu: 5.00 ns an operation, 1.0 % over the peak of live bytes (100 bytes more)
        gpu<>
- Not considered, because an allocation failed: broken.
- Not considered, because blocks were misaligned: crooked.
- Not in these numbers: the replay makes the calls of all threads on one thread, in their order. It does not access
  the blocks. Measure the program again with the chosen allocator.
)";
    CHECK(advisor{{"t", 2'000'000, 10'000}, rows}.text() == expected);
    std::ranges::reverse(rows);  // the order of the table does not matter
    CHECK(advisor{{"t", 2'000'000, 10'000}, rows}.text() == expected);
}

TEST_CASE("replay advice: without a measured extent, and without a result") {
    std::vector<row> rows{measured("glibc_malloc", subject_group::best_fit, -0.2, 0)};
    const std::string text = advisor{{"t", 10, 10}, rows}.text();
    CHECK(has(text, "- Fastest: glibc_malloc, 0.10 ns an operation"));  // noise
    CHECK(has(text, "- No allocator here has a measured extent."));
    CHECK_FALSE(has(text, "Tightest"));
    rows[0].seen.complete = false;
    CHECK(advisor{{"t", 10, 10}, rows}.text().empty());
    CHECK(advisor{{"t", 10, 10}, {}}.text().empty());
}
