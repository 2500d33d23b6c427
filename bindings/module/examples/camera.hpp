// The declarations that frames.cpp and camera.cpp share. A header of a project that migrates includes what it uses.
#pragma once

#include <allot/arena/arena.hpp>
#include <allot/host/heap.hpp>
#include <allot/strategy/best_fit.hpp>

#include <cstddef>

using frame_memory = allot::arena<allot::host::heap, allot::best_fit<>>;
inline constexpr std::size_t frame_bytes = 4096;

/// Fills a block with a frame. Returns an empty block if the memory is full.
allot::block_of<frame_memory> capture(frame_memory& memory, int index);
