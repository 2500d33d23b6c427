// SPDX-License-Identifier: BSL-1.0
// machine: runs a program on one memory.
//
//     vm::host_memory memory{{}};
//     vm::machine machine{memory, {}};
//     machine.run(vm::read_program(text), std::cout);
//
// A memory is a type with an arena `global` on the heap, two allocators `vtcm[2]` of any kind, and overloads of
// `copy(from, to, bytes)` and `run(operation, dtype, count, a, b, c)` for its addresses. A register holds one of the
// storages and tensors of these allocators. The compiler specializes every call for each type, and a `scope_map` finds
// the allocator of a scope's name at run time. Errors of the tensor layer become a `program_error`.
//
// Leases and handles are hardened: if the machine kills an object twice, the process aborts.
#pragma once

#include "host_memory.hpp"

#include <map>
#include <memory>

namespace vm {

namespace detail {
template <class T>
inline constexpr bool is_storage = false;
template <class Allocator, class Policies>
inline constexpr bool is_storage<allot::storage<Allocator, Policies>> = true;
template <class T>
inline constexpr bool is_contiguous = false;
template <class Lease>
inline constexpr bool is_contiguous<allot::tensor<Lease>> = true;
template <class T>
inline constexpr bool is_rows = false;
template <class Table, class Data, class Entry>
inline constexpr bool is_rows<allot::discontiguous_tensor<Table, Data, Entry>> = true;
}  // namespace detail

template <class Memory>
class machine {
    using policies = allot::storage_policies<allot::best_fit<>, allot::references::plain, allot::hardening::checked>;
    using vtcm_allocator = typename Memory::vtcm_allocator;
    static constexpr bool is_one_kind = std::same_as<vtcm_allocator, heap_arena>;

    template <class Allocator>
    using storage_on = allot::storage<Allocator, policies>;
    template <class Allocator>
    using tensor_on = allot::tensor_in<storage_on<Allocator>>;
    template <class Allocator>
    using rows_on = allot::discontiguous_tensor<storage_on<heap_arena>, storage_on<Allocator>, row_entry>;

    template <class... Allocators>
    using any_on =
        std::variant<std::monostate, storage_on<Allocators>..., tensor_on<Allocators>..., rows_on<Allocators>...>;
    using object = std::conditional_t<is_one_kind, any_on<heap_arena>, any_on<heap_arena, vtcm_allocator>>;

    using vtcm_address = typename vtcm_allocator::address_model::address;
    using any_operand = std::conditional_t<std::same_as<vtcm_address, void*>, std::variant<operand<void*>>,
                                           std::variant<operand<void*>, operand<vtcm_address>>>;

    struct named {
        object held;
        std::size_t made = 0, killed = 0;  // line numbers; `killed` is 0 while the object is alive
        bool is_output = false;
        std::shared_ptr<bool> is_written = std::make_shared<bool>(false);  // a property of the bytes, shared with views
    };

public:
    machine(Memory& memory, const memory_sizes& sizes)
        : memory_{memory}, caller_{arena_of<heap_arena>({}, sizes.caller)} {}

    /// Runs a program. Writes the elements of outputs and of printed tensors to `out`. Throws a `program_error`.
    void run(const program& all, std::ostream& out) {
        out_ = &out;
        for (const statement& each : all) {
            line_ = each.line;
            std::visit([this](const auto& what) { this->execute(what); }, each.what);
        }
        for (const std::string& output : outputs_) execute(print{output});
    }

private:
    // ── reasons ──────────────────────────────────────────────────────────────────────────────────────────────────

    [[noreturn]] void refuse(const std::string& reason) const { throw program_error{line_, reason}; }
    [[noreturn]] void refuse(const allot::tensor_error& error) const {
        std::string reason = error.row == allot::no_row ? "" : "row " + std::to_string(error.row) + ": ";
        reason += error.what();
        if (error.memory.reason == allot::refusal::fragmented)
            reason += "; the largest hole has " + std::to_string(error.memory.largest_hole) + " bytes";
        if (error.memory.reason == allot::refusal::device_refused)
            reason += "; the device's code is " + std::to_string(error.memory.device_error);
        refuse(reason);
    }
    void check(const allot::tensor_error& error) const {
        if (error.reason != allot::tensor_refusal::none) refuse(error);
    }
    template <class Value>
    [[nodiscard]] Value value_of(allot::tensor_result<Value> made) const {
        if (!made) refuse(made.error());
        return *std::move(made);
    }

    // ── registers ────────────────────────────────────────────────────────────────────────────────────────────────

    [[nodiscard]] named& live(const std::string& name) {
        const auto found = registers_.find(name);
        if (found == registers_.end()) refuse("there is no object " + detail::quoted(name));
        if (found->second.killed != 0)
            refuse(detail::quoted(name) + " was killed in line " + std::to_string(found->second.killed));
        return found->second;
    }
    /// Rejects a read of a tensor that was never written, because its contents differ between memories.
    void check_written(const std::string& name) {
        with_tensor(name, [](const auto&) {});
        if (!*live(name).is_written) refuse(detail::quoted(name) + " is read before it is written");
    }
    named& put(const std::string& name, object held) {
        named& at = registers_[name];
        if (at.made != 0 && at.killed == 0)
            refuse(detail::quoted(name) + " is already defined in line " + std::to_string(at.made));
        at = {std::move(held), line_};
        return at;
    }
    /// Calls `use(storage)`.
    template <class Use>
    auto with_storage(const std::string& name, Use&& use) {
        using answer = decltype(use(storage_on<heap_arena>{}));
        return std::visit(
            [&]<class T>(T& held) -> answer {
                if constexpr (detail::is_storage<T>) return use(held);
                else refuse(detail::quoted(name) + " is not a storage");
            },
            live(name).held);
    }
    /// Calls `use(tensor)` with a contiguous or discontiguous tensor.
    template <class Use>
    auto with_tensor(const std::string& name, Use&& use) {
        using answer = decltype(use(tensor_on<heap_arena>{}));
        return std::visit(
            [&]<class T>(T& held) -> answer {
                if constexpr (detail::is_contiguous<T> || detail::is_rows<T>) return use(held);
                else refuse(detail::quoted(name) + " is not a tensor");
            },
            live(name).held);
    }
    template <class Tensor>
    [[nodiscard]] static allot::shape logical_shape(const Tensor& of) {
        if constexpr (detail::is_rows<Tensor>) return of.logical_shape();
        else return of.shape();
    }
    template <class From, class To>
    [[nodiscard]] allot::tensor_error copy(const From& from, const To& to) const {
        const auto copied =
            allot::copy_tensor(from, to, [this](auto source, auto target, std::size_t bytes) noexcept -> long {
                return memory_.copy(source, target, bytes);
            });
        return copied ? allot::tensor_error{} : copied.error();
    }

    // ── statements ───────────────────────────────────────────────────────────────────────────────────────────────

    void execute(const alloc_storage& wanted) {
        if (wanted.align < 0) refuse({allot::tensor_refusal::bad_alignment});
        // Above this alignment, success would depend on the region's address.
        if (wanted.align > static_cast<std::int64_t>(region_align))
            refuse("the alignment of a storage is at most " + std::to_string(region_align) + " bytes");
        const allot::scope_map memories{allot::in_scope<allot::scope::global>(memory_.global),
                                        allot::in_scope<allot::scope::vtcm>(memory_.vtcm[0]),
                                        allot::in_scope<allot::scope::vtcm, 1>(memory_.vtcm[1])};
        using answer = allot::tensor_result<object>;
        put(wanted.target, value_of(memories.visit(wanted.scope, wanted.ordinal, [&](auto& allocator) {
                auto made = allot::alloc_storage<policies>(allocator, wanted.shape, wanted.type,
                                                           static_cast<std::size_t>(wanted.align));
                return made ? answer{*std::move(made)} : answer::failure(made.error());
            })));
    }

    void execute(const alloc_tensor& wanted) {
        put(wanted.target, with_storage(wanted.storage, [&](const auto& in) -> object {
                const auto alloc = [&](auto offset) {
                    return value_of(allot::alloc_tensor(in, offset, wanted.shape, wanted.type));
                };
                return wanted.offset ? alloc(*wanted.offset) : alloc(allot::anywhere);
            }));
    }

    void execute(const alloc_discontiguous_tensor& wanted) {
        // The host writes tables, and scope global is the only one that it can access in every memory.
        const auto table = with_storage(wanted.table, [&](const auto& in) -> storage_on<heap_arena> {
            if constexpr (std::same_as<decltype(in), const storage_on<heap_arena>&>) {
                if (&in.body()->allocator() == &memory_.global) return in;
            }
            refuse("a table needs a storage of scope global");
        });
        put(wanted.target, with_storage(wanted.data, [&](const auto& data) -> object {
                if (!wanted.table_offset) return with_offsets(wanted, table, allot::anywhere, data);
                return with_offsets(wanted, table, *wanted.table_offset, data);
            }));
    }
    template <class TableOffset, class Data>
    [[nodiscard]] object with_offsets(const alloc_discontiguous_tensor& wanted, const storage_on<heap_arena>& table,
                                      TableOffset table_offset, const Data& data) const {
        const auto alloc = [&](auto offsets) -> object {
            if (!wanted.logical_shape)
                return value_of(allot::alloc_discontiguous_tensor<row_entry>(table, table_offset, data, offsets,
                                                                             wanted.shape, wanted.type));
            return value_of(allot::alloc_discontiguous_tensor<row_entry>(table, table_offset, data, offsets,
                                                                         wanted.shape, wanted.type,
                                                                         *wanted.logical_shape, wanted.separators));
        };
        if (!wanted.data_offsets) return alloc(allot::anywhere);
        return alloc(allot::row_offsets{*wanted.data_offsets});
    }

    void execute(const view& wanted) {
        const auto is_written = live(wanted.of).is_written;
        bool is_whole = false;
        named& made = put(wanted.target, with_tensor(wanted.of, [&]<class T>(const T& of) -> object {
                              if constexpr (detail::is_contiguous<T>) {
                                  auto fresh = value_of(allot::view(of, wanted.type, wanted.shape));
                                  is_whole = fresh.size_bytes() == of.size_bytes();
                                  return fresh;
                              } else {
                                  refuse({allot::tensor_refusal::not_compact});
                              }
                          }));
        if (!is_whole) check_written(wanted.of);
        made.is_written = is_written;
    }

    void execute(const copy_tensor& wanted) {
        check_written(wanted.from);
        with_tensor(wanted.from,
                    [&](const auto& from) { with_tensor(wanted.to, [&](const auto& to) { check(copy(from, to)); }); });
        *live(wanted.to).is_written = true;
    }

    void execute(const kill_object& wanted) {
        named& it = live(wanted.name);
        if (it.is_output) refuse(detail::quoted(wanted.name) + " is an output and cannot be killed");
        std::visit(
            [](auto& held) {
                if constexpr (requires { held.kill(); }) held.kill();
            },
            it.held);
        it.killed = line_;
    }

    struct argument {
        const void* memory;
        allot::shape shape;
        allot::dtype type;
        std::size_t align;
        any_operand where;
    };
    [[nodiscard]] argument argument_named(const std::string& name) {
        return with_tensor(name, []<class T>(const T& of) -> argument {
            using address = typename T::address_type;
            operand<address> where;
            if constexpr (detail::is_rows<T>) {
                const auto table = of.table();
                where = {table.origin, {table.entries, table.count}, static_cast<std::size_t>(of.shape()[1])};
            } else {
                where = {of.address(), {}, of.size()};
            }
            const auto& in = *of.lease().body();
            return {&in.allocator(), logical_shape(of), of.dtype(), in.align(), where};
        });
    }
    void execute(const kernel& wanted) {
        check_written(wanted.a);
        check_written(wanted.b);
        const argument a = argument_named(wanted.a), b = argument_named(wanted.b), c = argument_named(wanted.c);
        if (a.memory != c.memory || b.memory != c.memory) refuse("the operands are in different memories");
        if (a.type != c.type || b.type != c.type) refuse({allot::tensor_refusal::dtype_mismatch});
        if (a.shape != c.shape || b.shape != c.shape) refuse({allot::tensor_refusal::shape_mismatch});
        std::size_t element = 0;
        if (!with_element(c.type, [&](auto one) { element = sizeof one; }))
            refuse("kernels support only int32, int64 and float32");
        if (std::min({a.align, b.align, c.align}) < element)
            refuse("an operand's storage has less alignment than an element");
        *live(wanted.c).is_written = true;
        const std::size_t count = *allot::element_count(c.shape);
        if (count == 0) return;
        const long code = std::visit(
            [&](const auto& to) {
                using same = std::remove_cvref_t<decltype(to)>;
                return memory_.run(wanted.what, c.type, count, std::get<same>(a.where), std::get<same>(b.where), to);
            },
            c.where);
        if (code != 0) refuse("the kernel failed; the device's code is " + std::to_string(code));
    }

    void execute(const declare& wanted) {
        const bool is_known = with_element(wanted.type, [&](auto element) {
            const auto in = value_of(allot::alloc_storage<policies>(caller_, wanted.shape, wanted.type));
            auto made = value_of(allot::alloc_tensor(in, 0, wanted.shape, wanted.type));
            const element_source<decltype(element)> values{wanted.values, made.size(), line_};
            for (std::size_t i = 0; i != made.size(); ++i) store(made.data(), i, values[i]);
            named& it = put(wanted.name, std::move(made));
            it.is_output = wanted.is_output;
            *it.is_written = true;
        });
        if (!is_known) refuse("inputs and outputs must be int32, int64 or float32");
        if (wanted.is_output) outputs_.push_back(wanted.name);
    }

    /// Calls `use(element, bytes, tensor)` with a copy of a tensor's elements in host memory.
    template <class Use>
    void read(const std::string& name, Use&& use) {
        check_written(name);
        with_tensor(name, [&](const auto& of) {
            allot::naive<allot::host::heap> memory;
            const auto in = value_of(allot::alloc_storage<policies>(memory, of.shape(), of.dtype()));
            const auto onto = value_of(allot::alloc_tensor(in, 0, of.shape(), of.dtype()));
            check(copy(of, onto));
            if (!with_element(of.dtype(), [&](auto element) { use(element, onto.data(), of); }))
                refuse("only int32, int64 and float32 can be read");
        });
    }
    void execute(const expect& wanted) {
        read(wanted.name, [&]<class T>(T, const void* bytes, const auto& of) {
            const element_source<T> values{wanted.values, of.size(), line_};
            for (std::size_t i = 0; i != of.size(); ++i) {
                const T element = load<T>(bytes, i);
                if (!is_same(element, values[i]))
                    refuse("element " + std::to_string(i) + " of " + detail::quoted(wanted.name) + " is " +
                           shown(element) + ", expected " + shown(values[i]));
            }
        });
    }
    void execute(const print& wanted) {
        read(wanted.name, [&]<class T>(T element, const void* bytes, const auto& of) {
            const allot::shape& extents = logical_shape(of);
            const std::size_t rank = extents.rank();
            const std::size_t row = rank == 0 ? 1 : static_cast<std::size_t>(extents[rank - 1]);
            *out_ << wanted.name << ' ' << shown(extents) << ' ' << name_of(element) << '\n';
            for (std::size_t i = 0; i != of.size(); ++i)
                *out_ << shown(load<T>(bytes, i)) << ((i + 1) % row == 0 ? '\n' : ' ');
        });
    }

    Memory& memory_;
    heap_arena caller_;  // of inputs and outputs
    std::map<std::string, named> registers_;
    std::vector<std::string> outputs_;
    std::ostream* out_ = nullptr;
    std::size_t line_ = 0;
};

}  // namespace vm
