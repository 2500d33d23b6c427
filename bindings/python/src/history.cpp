// SPDX-License-Identifier: BSL-1.0
// Traces, event logs and snapshots: reading, replaying, writing and drawing, with the parts of
// examples/apps/memory_viewer.
#include "module.hpp"

#include <examples/apps/memory_viewer/page.hpp>
#include <examples/apps/memory_viewer/replayed.hpp>

#include <allot/inspect/export_json.hpp>
#include <allot/inspect/export_perfetto.hpp>
#include <allot/inspect/export_pytorch.hpp>
#include <allot/inspect/memory_state.hpp>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string_view>
#include <tuple>

namespace allot_python {

namespace {

/// Bytes are not a file of allot: `allot.FormatError`.
struct format_failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Reads bytes without the interpreter's lock. Throws if they are not complete.
template <class Read>
auto read(const nb::bytes& from, Read reader) {
    const std::span bytes{reinterpret_cast<const std::byte*>(from.c_str()), from.size()};
    const unlocked during;
    auto made = reader(bytes);
    if (!made)
        throw format_failure{std::string{made.error.what()} + ", at byte " + std::to_string(made.error.position)};
    return std::move(made.value);
}

nb::bytes bytes_of(const std::vector<std::byte>& from) { return nb::bytes{from.data(), from.size()}; }

/// Returns what an exporter writes.
template <class Export>
std::string written(Export exported) {
    const unlocked during;
    std::string text;
    const auto write = [&](std::string_view part) { text += part; };
    exported(write);
    return text;
}
nb::bytes as_bytes(const std::string& text) { return nb::bytes{text.data(), text.size()}; }

std::string page_of(const allot::event_log& log, const allot::snapshot* state, std::string_view library,
                    std::string_view title) {
    return written([&](auto& write) {
        const viewer::history shown = viewer::historian{log}.make();
        viewer::page_writer{shown, state, title, write}.write(library);
    });
}

allot::event_log replay(const allot::trace& of, const std::string& allocator) {
    const unlocked during;
    const auto is_known = [&](const auto& each) { return each.name == allocator; };
    if (std::ranges::none_of(viewer::allocators, is_known)) {
        std::string names;
        for (const viewer::allocator_entry& each : viewer::allocators) (names += ' ') += each.name;
        throw std::invalid_argument{"unknown allocator " + allocator + "; the allocators are:" + names};
    }
    return viewer::replayed(of, allocator);
}

/// Records calls. The numbers of blocks are checked, because they are from users.
class recorder {
public:
    std::uint64_t allocate(natural<std::uint64_t> size, natural<std::uint64_t> alignment) {
        if (size >= std::uint64_t{1} << 62) throw std::invalid_argument{"the size must be below 2**62"};
        if (!allot::is_alignment(alignment.value)) throw std::invalid_argument{"the alignment is not a power of two"};
        live_.push_back(true);
        return writer_.allocate(size, alignment);
    }
    void free(natural<std::uint64_t> block) {
        if (block >= live_.size() || !live_[block])
            throw std::invalid_argument{"block " + std::to_string(block) + " is not live"};
        live_[block] = false;
        writer_.deallocate(block);
    }
    [[nodiscard]] nb::bytes bytes() const { return bytes_of(writer_.bytes()); }

private:
    allot::trace_writer writer_{};
    std::vector<bool> live_{};
};

/// Adds the drawing of a notebook, and of a whole page: allot/_viewer.py finds the plotting library.
template <class Class>
void bind_drawing(Class& to) {
    to.def(
          "html",
          [](nb::handle self, const std::string& title) {
              return nb::module_::import_("allot._viewer").attr("html")(self, title);
          },
          nb::arg("title") = "", nb::sig("def html(self, title: str = '') -> str"),
          "Returns a page with the map of the memory. It needs the package plotly, and a browser needs no network.")
        .def(
            "_repr_html_", [](nb::handle self) { return nb::module_::import_("allot._viewer").attr("frame")(self); },
            nb::sig("def _repr_html_(self) -> str"));
}

/// Adds the lists and the counters of a snapshot.
void bind_lists(nb::class_<allot::snapshot>& to) {
    const auto ranges = [](const std::vector<allot::snapshot_range>& of) {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
        for (const allot::snapshot_range& each : of) all.emplace_back(each.address, each.size);
        return all;
    };
    to.def_ro("allocator", &allot::snapshot::allocator, "The name of the allocator.")
        .def_prop_ro(
            "regions", [ranges](const allot::snapshot& of) { return ranges(of.regions); },
            "The regions as pairs of address and size.")
        .def_prop_ro(
            "holes", [ranges](const allot::snapshot& of) { return ranges(of.holes); },
            "The holes as pairs of address and size.")
        .def_prop_ro(
            "blocks",
            [](const allot::snapshot& of) {
                std::vector<std::tuple<std::uint64_t, std::uint64_t, std::string_view>> all;
                for (const allot::snapshot_block& each : of.blocks)
                    all.emplace_back(each.address, each.size, of.name_of(each.tag));
                return all;
            },
            "The blocks as triples of address, size and tag.")
        .def_prop_ro(
            "used", [](const allot::snapshot& of) { return of.statistics.used; }, "The bytes in blocks.")
        .def_prop_ro(
            "free", [](const allot::snapshot& of) { return of.statistics.free; }, "The bytes in holes.")
        .def_prop_ro(
            "fragmentation", [](const allot::snapshot& of) { return of.statistics.fragmentation(); },
            "The share of the free bytes that is outside the largest hole.");
}

void bind_snapshot(nb::module_& m) {
    nb::class_<allot::snapshot> snapshot(m, "Snapshot",
                                         R"(The state of an allocator at one time: regions, blocks and holes.

Arena.snapshot and OffsetAllocator.snapshot return it, and C++ programs write it (allot/inspect/snapshot.hpp). A notebook
shows its map.)");
    snapshot
        .def_static(
            "from_bytes", [](const nb::bytes& from) { return read(from, allot::read_snapshot); }, nb::arg("data"),
            "Reads a snapshot (ALSN1). Raises FormatError if the bytes are damaged.")
        .def(
            "to_bytes", [](const allot::snapshot& of) { return bytes_of(allot::write_snapshot(of)); },
            "Returns the bytes of a file, which ./dev view and C++ programs read.")
        .def(
            "json", [](const allot::snapshot& of) { return written([&](auto& to) { allot::export_json(of, to); }); },
            "Returns the state as JSON (examples/apps/memory_viewer/memory.schema.json).")
        .def(
            "_page",
            [](const allot::snapshot& of, std::string_view library, std::string_view title) {
                return page_of(viewer::log_of(of), &of, library, title);
            },
            nb::arg("library"), nb::arg("title"))
        .def(
            "__eq__",
            [](const allot::snapshot& of, nb::handle other) {
                const allot::snapshot* same = nullptr;
                return nb::try_cast(other, same) && same != nullptr && of == *same;
            },
            nb::arg("other").none())
        .def("__repr__", [](const allot::snapshot& of) {
            return "<Snapshot of " + std::to_string(of.blocks.size()) + " blocks and " +
                   std::to_string(of.holes.size()) + " holes: " + std::to_string(of.statistics.used) + " bytes used, " +
                   std::to_string(of.statistics.free) + " free>";
        });
    bind_lists(snapshot);
    bind_drawing(snapshot);
}

/// Adds the formats of other tools.
void bind_exports(nb::class_<allot::event_log>& to) {
    to.def(
          "json", [](const allot::event_log& of) { return written([&](auto& to) { allot::export_json(of, to); }); },
          "Returns the events as JSON (examples/apps/memory_viewer/memory.schema.json).")
        .def(
            "perfetto",
            [](const allot::event_log& of) {
                return as_bytes(written([&](auto& to) { allot::export_perfetto(of, to); }));
            },
            "Returns a trace for https://ui.perfetto.dev.")
        .def(
            "pytorch",
            [](const allot::event_log& of) {
                return as_bytes(written([&](auto& to) { allot::export_pytorch(of, to); }));
            },
            "Returns a memory snapshot for https://pytorch.org/memory_viz.");
}

void bind_log(nb::module_& m) {
    nb::class_<allot::event_log> log(m, "EventLog", R"(The calls of an allocator in their order, with addresses.

`replay` returns it, and C++ programs write it (allot/inspect/event_log.hpp). A notebook shows the memory over time.)");
    log.def_static(
           "from_bytes", [](const nb::bytes& from) { return read(from, allot::read_event_log); }, nb::arg("data"),
           "Reads an event log (ALEV1). Raises FormatError if the bytes are damaged.")
        .def(
            "to_bytes",
            [](const allot::event_log& of) {
                allot::event_log_writer writer{of.unit};
                for (const std::string& tag : of.tags) writer.tag(tag);
                for (const allot::memory_event& each : of.events) writer.add(each);
                return bytes_of(writer.bytes());
            },
            "Returns the bytes of a file, which ./dev view and C++ programs read.")
        .def_prop_ro(
            "events",
            [](const allot::event_log& of) {
                std::vector<std::tuple<std::uint64_t, std::string_view, std::uint64_t, std::uint64_t>> all;
                for (const allot::memory_event& each : of.events)
                    all.emplace_back(each.time, to_string(each.action), each.address, each.size);
                return all;
            },
            "The events as tuples of time, kind, address and size.")
        .def_prop_ro(
            "held",
            [](const allot::event_log& of) {
                std::uint64_t bytes = 0;
                for (const allot::memory_event& each : of.events)
                    if (each.action == allot::memory_action::acquire_region) bytes += each.size;
                return bytes;
            },
            "The sum of the sizes of all acquired regions.")
        .def(
            "_page",
            [](const allot::event_log& of, std::string_view library, std::string_view title) {
                return page_of(of, nullptr, library, title);
            },
            nb::arg("library"), nb::arg("title"))
        .def("__len__", [](const allot::event_log& of) { return of.events.size(); })
        .def("__repr__", [](const allot::event_log& of) {
            return "<EventLog of " + std::to_string(of.events.size()) + " events>";
        });
    bind_exports(log);
    bind_drawing(log);
}

}  // namespace

void bind_history(nb::module_& m) {
    nb::exception<format_failure>(m, "FormatError", PyExc_ValueError).doc() =
        "Bytes are not a complete file. The text is the reason and the position.";
    bind_snapshot(m);
    bind_log(m);
    nb::class_<recorder>(m, "TraceWriter", R"(Records allocations as a trace, which has sizes and no addresses.

>>> from allot import Trace, TraceWriter
>>> writer = TraceWriter()
>>> first = writer.allocate(3000)
>>> second = writer.allocate(500, alignment=64)
>>> writer.free(first)
>>> Trace.from_bytes(writer.to_bytes())
<Trace of 3 operations: at most 3500 bytes in 2 blocks live>
)")
        .def(nb::init<>())
        .def("allocate", &recorder::allocate, nb::arg("size"), nb::arg("alignment") = 16,
             "Records an allocation and returns the number of the block.")
        .def("free", &recorder::free, nb::arg("block"), "Records that a block is freed.")
        .def("to_bytes", &recorder::bytes, "Returns the bytes of a file, which ./dev replay and Trace read.");
    nb::class_<allot::trace>(m, "Trace", R"(The sizes and alignments that a program asked an allocator for.

./dev record writes traces of programs, and TraceWriter those of Python.)")
        .def_static(
            "from_bytes", [](const nb::bytes& from) { return read(from, allot::read_trace); }, nb::arg("data"),
            "Reads a trace (ALTR1). Raises FormatError if the bytes are damaged.")
        .def_ro("peak", &allot::trace::peak, "The maximum number of live bytes.")
        .def_ro("largest", &allot::trace::largest, "The size of the largest block.")
        .def_ro("slots", &allot::trace::slots, "The maximum number of live blocks.")
        .def("__len__", [](const allot::trace& of) { return of.operations.size(); })
        .def("__repr__", [](const allot::trace& of) {
            return "<Trace of " + std::to_string(of.operations.size()) + " operations: at most " +
                   std::to_string(of.peak) + " bytes in " + std::to_string(of.slots) + " blocks live>";
        });
    m.def("replay", &replay, nb::arg("trace"), nb::arg("allocator") = "best_fit",
          R"(Replays a trace on an allocator: best_fit, best_fit_side_table, deferred or bump.

The memory is the smallest of some sizes that suffices. Other threads run meanwhile.

>>> from allot import Trace, TraceWriter, replay
>>> writer = TraceWriter()
>>> for block in [writer.allocate(100 * size) for size in range(1, 10)][::2]:
...     writer.free(block)
>>> log = replay(Trace.from_bytes(writer.to_bytes()), "deferred")
>>> len(log), log.held
(15, 8192)
)");
}

}  // namespace allot_python
