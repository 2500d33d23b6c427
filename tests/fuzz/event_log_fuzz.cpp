// Fuzz target: the readers of event logs and snapshots, with arbitrary bytes. The part that is read can be written
// again, exported, and drawn.
#include "history.hpp"

#include <allot/inspect/export_json.hpp>
#include <allot/inspect/export_perfetto.hpp>
#include <allot/inspect/export_pytorch.hpp>
#include <allot/inspect/export_vma.hpp>

#include <cstdlib>
#include <span>
#include <string_view>

namespace {

void require(bool right) {
    if (!right) std::abort();
}

void use(const allot::event_log& log, const allot::snapshot& state) {
    std::size_t bytes = 0;
    const auto count = [&](std::string_view part) { bytes += part.size(); };
    allot::export_json(log, count);
    allot::export_perfetto(log, count);
    allot::export_pytorch(log, count);
    allot::export_json(state, count);
    allot::export_pytorch(state, count);
    allot::export_vma(state, count);
    require(bytes > 0);
    const viewer::history drawn = viewer::historian{log}.make();
    for (const viewer::lifetime& each : drawn.blocks) require(each.start <= each.end && each.tag < drawn.tags.size());
    for (const viewer::sample& each : drawn.samples) require(each.largest_hole <= each.free);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto input = std::as_bytes(std::span{bytes, size});
    if (const auto read = allot::read_event_log(input); !read.value.events.empty() || read) {
        const allot::event_log& log = read.value;
        allot::event_log_writer writer{log.unit};
        for (const std::string& tag : log.tags) writer.tag(tag);
        for (const allot::memory_event& event : log.events) writer.add(event);
        const auto again = allot::read_event_log(writer.bytes());
        require(again && again.value.events == log.events && again.value.tags == log.tags);
        use(log, allot::snapshot_at(log, log.events.size() / 2));
    } else {
        require(read.error.position <= size && !std::string_view{read.error.what()}.empty());
    }
    if (const auto read = allot::read_snapshot(input); read) {
        const auto again = allot::read_snapshot(allot::write_snapshot(read.value));
        require(again && again.value == read.value);
        use(viewer::log_of(read.value), read.value);
    } else {
        require(read.error.position <= size);
        use(viewer::log_of(read.value), read.value);
    }
    return 0;
}
