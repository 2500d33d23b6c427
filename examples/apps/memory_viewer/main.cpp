// SPDX-License-Identifier: BSL-1.0
// memory_viewer: draws an event log, a snapshot or a replayed trace, and converts it to other formats.
//
//     memory_viewer --html page.html --library plotly.min.js program.altr
//
// See `memory_viewer --help`, and README.md for the formats. ./dev view installs the plotting library and calls this
// program.
#include "input.hpp"
#include "options.hpp"
#include "page.hpp"

#include <allot/inspect/export_json.hpp>
#include <allot/inspect/export_perfetto.hpp>
#include <allot/inspect/export_pytorch.hpp>
#include <allot/inspect/export_vma.hpp>

namespace {

using namespace viewer;

constexpr const char* help = R"(usage: memory_viewer [OPTIONS] FILE

Draws the memory of a program over time, and converts it to other formats. FILE is an event log (ALEV1), a snapshot (ALSN1),
or a trace (ALTR1), which is replayed on an allocator.

  --allocator NAME       allocator for a trace: best_fit (default), best_fit_side_table, deferred or bump
  --html FILE            write a page with the map of the memory over time, fragmentation and tags
  --library FILE         the plotting library plotly.min.js, which the page contains
  --log FILE             write the events as an event log
  --json FILE            write the events, or the snapshot, as JSON (memory.schema.json)
  --perfetto FILE        write counters of the events as a trace of Perfetto (https://ui.perfetto.dev)
  --pytorch FILE         write the events as a memory snapshot of PyTorch (https://pytorch.org/memory_viz)
  --vma FILE             write a state as JSON of the Vulkan Memory Allocator (GpuMemDumpVis.py)
  --at peak|end          the state of an event log for --vma: at the peak of live bytes (default), or at the end
  --help                 print this text

Exit status: 0 on success; 1 if FILE was cut off or is damaged, and its first part was used; 2 for incorrect usage, and for
a file that cannot be used or written.
)";

/// A file that reports errors.
class file_writer {
public:
    explicit file_writer(const std::string& path) : path_{path}, file_{path, std::ios::binary} {}
    void operator()(std::string_view part) { file_.write(part.data(), static_cast<std::streamsize>(part.size())); }
    void close() {
        if (!file_.flush()) throw std::runtime_error{path_ + ": cannot be written"};
    }

private:
    std::string path_;
    std::ofstream file_;
};

/// Writes a file with a function, unless no path is given.
template <class Export>
void write_file(const std::string& path, Export exported) {
    if (path.empty()) return;
    file_writer file{path};
    exported(file);
    file.close();
}

void write_log(const allot::event_log& log, file_writer& file) {
    allot::event_log_writer writer{log.unit};
    const auto take = [&] {
        const auto bytes = writer.take();
        file({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    };
    for (const std::string& name : log.tags) writer.tag(name);
    for (std::size_t i = 0; i != log.events.size(); ++i) {
        writer.add(log.events[i]);
        if (i % 10'000 == 0) take();
    }
    writer.finish();
    take();
}

int run(const options& chosen) {
    const input given = read_input(chosen.file, chosen.allocator);
    write_file(chosen.log, [&](file_writer& file) { write_log(given.log, file); });
    write_file(chosen.json, [&](file_writer& file) {
        if (given.state) allot::export_json(*given.state, file);
        else allot::export_json(given.log, file);
    });
    write_file(chosen.perfetto, [&](file_writer& file) { allot::export_perfetto(given.log, file); });
    write_file(chosen.pytorch, [&](file_writer& file) {
        if (given.state) allot::export_pytorch(*given.state, file);
        else allot::export_pytorch(given.log, file);
    });
    write_file(chosen.vma, [&](file_writer& file) {
        const std::size_t events = chosen.at == "end" ? given.log.events.size() : peak_of(given.log);
        allot::export_vma(given.state ? *given.state : snapshot_at(given.log, events), file);
    });
    write_file(chosen.html, [&](file_writer& file) {
        const std::string library = contents(chosen.library);
        const history shown = historian{given.log}.make();
        const std::string title = std::filesystem::path{chosen.file}.filename().string();
        page_writer{shown, given.state ? &*given.state : nullptr, title, file}.write(library);
    });
    return given.complete ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
    const options chosen = parse(demo::arguments{{argv + 1, argv + argc}});
    if (chosen.help) {
        std::cout << help;
        return 0;
    }
    return run(chosen);
} catch (const usage_error& reason) {
    std::cerr << "memory_viewer: " << reason.what() << "; see memory_viewer --help\n";
    return 2;
} catch (const std::exception& reason) {
    std::cerr << "memory_viewer: " << reason.what() << '\n';
    return 2;
}
