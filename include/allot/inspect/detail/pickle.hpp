// SPDX-License-Identifier: BSL-1.0
// pickle: writes values in Python's pickle format, protocol 2, with the opcodes that the unpickler of PyTorch's
// memory_viz reads.
//
// Complexity: O(1) for a number.
// Memory: a few bytes.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/inspect/detail/output.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

template <class Out>
class pickle_writer {
public:
    explicit pickle_writer(Out& out) : out_{out} {
        out_.byte(0x80);  // PROTO
        out_.byte(2);
    }
    void stop() { out_.byte('.'); }

    void number(std::uint64_t value) {
        if (value < 0x100) out_.byte('K'), out_.little_endian(value, 1);             // BININT1
        else if (value < 0x1'0000) out_.byte('M'), out_.little_endian(value, 2);     // BININT2
        else if (value < 0x8000'0000) out_.byte('J'), out_.little_endian(value, 4);  // BININT
        else long_number(value);
    }
    void text(std::string_view value) {
        const std::string encoded = as_utf8(value);
        out_.byte('X');  // BINUNICODE
        out_.little_endian(encoded.size(), 4);
        out_.text(encoded);
    }

    /// Keeps the last value under a number.
    void keep(std::uint32_t number) { memo(number, 'q', 'r'); }  // BINPUT, LONG_BINPUT
    /// Writes a value that was kept.
    void kept(std::uint32_t number) { memo(number, 'h', 'j'); }  // BINGET, LONG_BINGET

    /// Writes a dictionary whose keys and values `write` writes.
    template <class Write>
    void dictionary(Write write) {
        out_.byte('}');
        out_.byte('(');  // MARK
        write();
        out_.byte('u');  // SETITEMS
    }

    /// A list. Items are added in batches, because the reader keeps a batch on its stack.
    class list {
    public:
        explicit list(pickle_writer& to) : out_{to.out_} {
            out_.byte(']');
            out_.byte('(');
        }
        /// Call this before each item.
        void next() {
            if (count_++ % 1000 != 0 || count_ == 1) return;
            out_.byte('e');  // APPENDS
            out_.byte('(');
        }
        void close() { out_.byte('e'); }

    private:
        Out& out_;
        std::uint64_t count_ = 0;
    };

private:
    void long_number(std::uint64_t value) {  // LONG1, with a sign
        const unsigned bytes = value < 0x80'0000'0000 ? 5 : value < 0x8000'0000'0000 ? 6 : value >> 63 == 0 ? 8 : 9;
        out_.byte(0x8A);
        out_.byte(bytes);
        out_.little_endian(value, bytes);
    }
    void memo(std::uint32_t number, char narrow, char wide) {
        out_.byte(static_cast<unsigned char>(number < 256 ? narrow : wide));
        out_.little_endian(number, number < 256 ? 1 : 4);
    }

    Out& out_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
