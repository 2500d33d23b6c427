#!/usr/bin/python3
# SPDX-License-Identifier: BSL-1.0
"""Converts the records of other tools to traces (ALTR1): ./dev record --convert and ./dev replay run it.

    convert.py [--out FILE] FILE

FILE is a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot), a file of heaptrack, or the log of RMM's
logging_resource_adaptor, also compressed by gzip or zstd. The content decides. A snapshot of several devices becomes one
trace per device. The paths of the traces are written to standard output.

If the file is invalid, the message states the byte and the reason. Exit status 1: the events before it are in the trace.
Exit status 2: there are none. Nothing in a file is executed: the pickle of a snapshot is read by code of this program that
knows only numbers, texts, lists, tuples and dictionaries.
"""

import argparse
import struct
import subprocess
import sys
import zlib
from pathlib import Path

GPU_ALIGN, RMM_ALIGN, HOST_ALIGN = 512, 256, 16
LONGEST_LINE = 1 << 20
MOST_BYTES = 1 << 32  # of a decompressed snapshot
MOST_SIZE = 1 << 62


class Refused(Exception):
    """The first byte that cannot be read, and the reason."""

    def __init__(self, position, reason):
        super().__init__(f"byte {position}: {reason}")


class Trace:
    """Writes ALTR1, and gives numbers to the blocks of addresses."""

    def __init__(self):
        self.events, self.count, self.blocks, self.peak, self.used = bytearray(), 0, 0, 0, 0
        self.live = {}  # number and size, by address
        self.unknown = self.conflicts = self.failed = 0

    def number(self, value):
        while value >= 128:
            self.events.append(value & 127 | 128)
            value >>= 7
        self.events.append(value)

    def add(self, size, align):
        """Writes an allocation, and returns the number of the block."""
        self.count += 1
        self.number(size << 2 | (align != HOST_ALIGN))
        if align != HOST_ALIGN:
            self.events.append(align.bit_length() - 1)
        self.used += size
        self.peak = max(self.peak, self.used)
        self.blocks += 1
        return self.blocks - 1

    def remove(self, block, size):
        self.count += 1
        self.number(self.blocks - 1 - block << 2 | 2)
        self.used -= size

    def allocate(self, address, size, align):
        if address in self.live:
            self.conflicts += 1
            self.remove(*self.live[address])
        self.live[address] = self.add(size, align), size

    def deallocate(self, address):
        block = self.live.pop(address, None)
        if block is None:
            self.unknown += 1
        else:
            self.remove(*block)

    def write(self, path):
        events, self.events = self.events, bytearray()
        self.number(self.count)
        self.number(self.blocks)
        Path(path).write_bytes(b"ALTR1\n" + self.events + events)
        self.events = events


def size_of(text, base, position):
    try:
        value = int(text, base)
    except ValueError:
        raise Refused(position, f"{text!r} is not a number") from None
    if not 0 <= value < MOST_SIZE:
        raise Refused(position, f"the size {value} is not below 2^62")
    return value


class Pickle:
    """Reads a pickle of numbers, texts, lists, tuples and dictionaries. Any other opcode is refused."""

    MARK = object()
    SIZES = {0x8c: 1, 0x58: 4, 0x8d: 8, 0x43: 1, 0x42: 4, 0x8e: 8, 0x55: 1, 0x54: 4, 0x8a: 1, 0x8b: 4}  # bytes of a length
    TEXTS, BYTES = (0x8c, 0x58, 0x8d), (0x43, 0x42, 0x8e, 0x55, 0x54)
    CONSTANTS = {0x4e: None, 0x88: True, 0x89: False}
    EMPTY = {0x7d: dict, 0x5d: list, 0x29: tuple}
    NUMBERS = {0x4b: "<B", 0x4d: "<H", 0x4a: "<i", 0x47: ">d"}
    GETS, PUTS = {0x68: 1, 0x6a: 4}, {0x71: 1, 0x72: 4}

    def __init__(self, data):
        self.data, self.at, self.start, self.stack, self.memo, self.opcodes = data, 0, 0, [], {}, 0

    def take(self, count):
        if count > len(self.data) - self.at:
            raise Refused(self.start, "the pickle ends inside a value")
        self.at += count
        return self.data[self.at - count:self.at]

    def length(self, count):
        return int.from_bytes(self.take(count), "little")

    def pop(self):
        if not self.stack or self.stack[-1] is self.MARK:
            raise Refused(self.start, "a value is missing")
        return self.stack.pop()

    def since_mark(self):
        for index in range(len(self.stack) - 1, -1, -1):
            if self.stack[index] is self.MARK:
                values = self.stack[index + 1:]
                del self.stack[index:]
                return values
        raise Refused(self.start, "a mark is missing")

    def extend(self, values):
        if not self.stack or not isinstance(self.stack[-1], list):
            raise Refused(self.start, "values without a list")
        self.stack[-1].extend(values)

    def set(self, values):
        if not self.stack or not isinstance(self.stack[-1], dict) or len(values) % 2 != 0:
            raise Refused(self.start, "pairs without a dictionary")
        try:
            self.stack[-1].update(zip(values[::2], values[1::2]))
        except TypeError:
            raise Refused(self.start, "a key is a list or a dictionary") from None

    def close(self):
        """Returns the value so far: gives the values after each mark to the list or dictionary in front of it."""
        while self.MARK in self.stack:
            self.give(self.since_mark())
        values, self.stack[1:] = self.stack[1:], []
        self.give(values)
        return self.stack[0] if self.stack else None

    def give(self, values):
        top = self.stack[-1] if self.stack else None
        if isinstance(top, list):
            top.extend(values)
        elif isinstance(top, dict):
            at = 0
            while at + 1 < len(values):
                key, value, at = values[at], values[at + 1], at + 2
                while at < len(values) and not isinstance(values[at], str):  # no key: it was not yet appended to the list
                    if isinstance(value, list):
                        value.append(values[at])
                    at += 1
                if isinstance(key, str):
                    top[key] = value

    def run(self):
        """Returns the value, or the part before an error, and the error."""
        try:
            while self.step():
                pass
            return self.pop(), None
        except Refused as refused:
            return self.close(), refused

    def step(self):
        self.start = self.at
        self.opcodes += 1
        code = self.take(1)[0]
        if code == 0x94:  # the next memo
            self.memo[len(self.memo)] = self.top()
        elif code in self.GETS:
            index = self.length(self.GETS[code])
            if index not in self.memo:
                raise Refused(self.start, "a reference to a value that does not exist")
            self.stack.append(self.memo[index])
        elif code in self.NUMBERS:
            self.stack.append(struct.unpack(self.NUMBERS[code], self.take(struct.calcsize(self.NUMBERS[code])))[0])
        elif code in self.SIZES:
            self.stack.append(self.sized(code, self.take(self.length(self.SIZES[code]))))
        elif code == 0x28:
            self.stack.append(self.MARK)
        elif code in (0x75, 0x73):
            self.set(self.since_mark() if code == 0x75 else [self.pop(), self.pop()][::-1])
        elif code in (0x65, 0x61):
            self.extend(self.since_mark() if code == 0x65 else [self.pop()])
        elif code in self.EMPTY:
            self.stack.append(self.EMPTY[code]())
        elif code in self.PUTS:
            self.memo[self.length(self.PUTS[code])] = self.top()
        elif code in self.CONSTANTS:
            self.stack.append(self.CONSTANTS[code])
        elif code == 0x74:
            self.stack.append(tuple(self.since_mark()))
        elif code in (0x85, 0x86, 0x87):
            self.stack.append(tuple([self.pop() for _ in range(code - 0x84)][::-1]))
        elif code == 0x80:
            if self.take(1)[0] > 5:
                raise Refused(self.start, f"the pickle has version {self.data[self.at - 1]}; versions 2 to 5 are known")
        elif code == 0x95:
            self.take(8)  # the length of a frame
        elif code == 0x2e:
            return False
        else:
            raise Refused(self.start, f"opcode 0x{code:02x} makes an object; a snapshot has only numbers, texts, lists, tuples and "
                                      "dictionaries")
        return True

    def top(self):
        if not self.stack:
            raise Refused(self.start, "a value is missing")
        return self.stack[-1]

    def sized(self, code, content):
        if code in self.TEXTS:
            try:
                return str(content, "utf-8", "surrogatepass")
            except UnicodeDecodeError:
                raise Refused(self.start, "a text is not UTF-8") from None
        return bytes(content) if code in self.BYTES else int.from_bytes(content, "little", signed=True)


class Snapshot:
    """A memory snapshot of PyTorch: one trace per device, from its history and its live blocks."""

    def __init__(self, source):
        data = source.read(MOST_BYTES)
        self.opcodes = 0
        reader = Pickle(data)
        value, self.error = reader.run()
        self.left = 2 * reader.opcodes  # so that references cannot make a trace of any length
        self.end = reader.start
        self.traces = {}
        if isinstance(value, list):  # memory_snapshot() returns the segments alone
            value = {"segments": value}
        if not isinstance(value, dict) or not isinstance(value.get("segments", []), list):
            raise self.error or Refused(0, "the pickle is not a memory snapshot of PyTorch")
        self.read(value)

    def read(self, value):
        histories = value.get("device_traces", [])
        at_end = self.live_at_end(value.get("segments", []))
        histories = histories if isinstance(histories, list) else []
        for device in range(max(len(histories), 1 + max(at_end, default=-1))):
            history = histories[device] if device < len(histories) and isinstance(histories[device], list) else []
            trace = self.convert(history, at_end.get(device, {}))
            if trace.count:
                self.traces[device] = trace
        if not any(histories):
            print("dev: the snapshot has no history, only its live blocks; call torch.cuda.memory._record_memory_history() "
                  "first", file=sys.stderr)

    def whole(self, entry, name, most=MOST_SIZE):
        number = entry[name] if name in entry else None
        if type(number) is not int or not 0 <= number < most:
            raise Refused(self.end, f"an entry of the snapshot has no valid {name!r}")
        return number

    def entries(self, container):
        """Returns the dictionaries of a list."""
        for entry in container if isinstance(container, list) else []:
            self.left -= 1
            if self.left < 0:
                raise Refused(self.end, "the lists of the snapshot refer to each other")
            if not isinstance(entry, dict):
                raise Refused(self.end, "an entry of the snapshot is not a dictionary")
            yield entry

    def live_at_end(self, segments):
        """Returns the sizes of live blocks by device and address."""
        live = {}
        try:
            for segment in self.entries(segments):
                address = self.whole(segment, "address", 1 << 64)
                for block in self.entries(segment.get("blocks")):
                    size = self.whole(block, "size")
                    address = self.whole(block, "address", 1 << 64) if "address" in block else address  # from 2.0 on
                    if block.get("state") in ("active_allocated", "active_pending_free"):
                        asked = block.get("requested_size", size)
                        asked = asked if type(asked) is int and 0 < asked <= size else size
                        live.setdefault(self.whole(segment, "device", 1024), {})[address] = asked
                    address += size
        except Refused as refused:
            self.error = self.error or refused
        return live

    def convert(self, history, at_end):
        """Blocks that were live before the history are allocated first: those that it frees and those that it leaves."""
        events = []
        try:
            for entry in self.entries(history):
                if entry.get("action") in ("alloc", "free_completed"):
                    events.append((entry["action"] == "alloc", self.whole(entry, "addr", 1 << 64), self.whole(entry, "size")))
        except Refused as refused:
            self.error = self.error or refused
        before, own = {}, set()
        for allocates, address, size in events:
            if allocates:
                own.add(address)
            elif address not in own:
                before.setdefault(address, size)
        for address, size in at_end.items():
            if address not in own:
                before.setdefault(address, size)
        trace = Trace()
        for address in sorted(before):
            trace.allocate(address, before[address], GPU_ALIGN)
        for allocates, address, size in events:
            if allocates:
                trace.allocate(address, size, GPU_ALIGN)
            else:
                trace.deallocate(address)
        return trace


class Lines:
    """The lines of a stream, with their offsets."""

    def __init__(self, source):
        self.source, self.at = source, 0

    def __iter__(self):
        while line := self.source.readline(LONGEST_LINE):
            if len(line) == LONGEST_LINE:
                raise Refused(self.at, "a line has more than 1 MiB")
            if not line.endswith(b"\n"):
                raise Refused(self.at, "the last line is cut off")
            yield self.at, line[:-1]
            self.at += len(line)


class Text:
    """Base class of the formats with one event in each line."""

    def __init__(self, source):
        self.traces, self.error = {0: Trace()}, None
        try:
            for position, line in Lines(source):
                self.line(position, line.decode("utf-8", "replace"))
        except Refused as refused:
            self.error = refused
        if self.error is None and source.error:
            self.error = Refused(source.at, source.error)


class Heaptrack(Text):
    """A file of heaptrack. Its frees name the size and the stack of a block, not its address. The newest block of the same
    size and stack is freed, so the live bytes are exact. Files before heaptrack_interpret have addresses."""

    VERSIONS = range(1, 4)

    def __init__(self, source):
        self.infos, self.live, self.versioned = [], {}, False
        super().__init__(source)

    def line(self, position, line):
        fields = line.split(" ")
        trace, kind = self.traces[0], fields[0]
        if kind == "v":
            version = size_of(fields[2], 16, position) if len(fields) > 2 else 0
            if version not in self.VERSIONS:
                raise Refused(position, f"heaptrack's format {version} is unknown; formats 1 to 3 are known")
            self.versioned = True
        elif not self.versioned:
            raise Refused(position, "the version of heaptrack's format is missing")
        elif kind == "a":
            self.infos.append(size_of(fields[1] if len(fields) > 1 else "", 16, position))
        elif kind == "+" and len(fields) == 4:
            trace.allocate(size_of(fields[3], 16, position), size_of(fields[1], 16, position), HOST_ALIGN)
        elif kind == "+":
            info = self.info(fields, position)
            self.live.setdefault(info, []).append(trace.add(self.infos[info], HOST_ALIGN))
        elif kind == "-" and not self.infos:
            trace.deallocate(size_of(fields[1] if len(fields) > 1 else "", 16, position))
        elif kind == "-":
            info = self.info(fields, position)
            if self.live.get(info):
                trace.remove(self.live[info].pop(), self.infos[info])
            else:
                trace.unknown += 1
        elif kind and kind[0] not in "#sitXxIcRSAme":
            raise Refused(position, f"{line[:40]!r} is not a line of heaptrack")

    def info(self, fields, position):
        info = size_of(fields[1] if len(fields) > 1 else "", 16, position)
        if info >= len(self.infos):
            raise Refused(position, f"allocation {info} is not defined")
        return info


class Rmm(Text):
    """The log of RMM: Thread,Time,Action,Pointer,Size,Stream."""

    def line(self, position, line):
        if position == 0 or not line:
            return
        fields = line.rstrip("\r").split(",")
        if len(fields) < 6:
            raise Refused(position, f"a line needs six fields, and has {len(fields)}")
        action, pointer, size = fields[2], fields[3], size_of(fields[4], 10, position)
        address = 0 if pointer == "(nil)" else size_of(pointer, 16, position)
        trace = self.traces[0]
        if action == "allocate":
            trace.allocate(address, size, RMM_ALIGN)
        elif action in ("deallocate", "free"):
            if address:
                trace.deallocate(address)
        elif action == "allocate failure":
            trace.failed += 1
        else:
            raise Refused(position, f"{action!r} is not an action")


class Source:
    """The bytes of a file, decompressed. Keeps those before an error of the compression."""

    def __init__(self, path):
        self.file, self.error, self.at, self.buffer, self.process = open(path, "rb"), "", 0, b"", None
        start = self.file.read(4)
        self.file.seek(0)
        if start[:2] == b"\x1f\x8b":
            self.chunks = self.gzip()
        elif start == b"\x28\xb5\x2f\xfd":
            self.chunks = self.zstd(path)
        else:
            self.chunks = iter(lambda: self.file.read(1 << 16), b"")

    def gzip(self):
        inflate = zlib.decompressobj(31)
        try:
            while chunk := self.file.read(1 << 16):
                while chunk:
                    yield inflate.decompress(chunk, 1 << 20)
                    chunk = inflate.unconsumed_tail
                if inflate.eof:
                    return
            self.error = "the compressed data is cut off"
        except zlib.error:
            self.error = "the compressed data is invalid"

    def zstd(self, path):
        try:
            self.process = subprocess.Popen(["zstd", "-dcq", "--", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        except OSError:
            self.error = "zstd is not installed"
            return
        yield from iter(lambda: self.process.stdout.read(1 << 16), b"")
        if self.process.wait() != 0:
            self.error = "the compressed data is cut off or invalid"

    def close(self):
        self.file.close()
        if self.process is not None:
            self.process.stdout.close()
            self.process.kill()
            self.process.wait()

    def fill(self):
        chunk = next(self.chunks, None)
        if chunk is None:
            return False
        self.buffer += chunk
        return True

    def peek(self, count):
        while len(self.buffer) < count and self.fill():
            pass
        return self.buffer[:count]

    def take(self, count):
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        self.at += len(taken)
        return taken

    def read(self, most):
        """Returns the rest of the bytes."""
        parts, length = [self.buffer], len(self.buffer)
        for chunk in self.chunks:
            parts.append(chunk)
            length += len(chunk)
            if length > most:
                raise Refused(most, "the file decompresses to more than 4 GiB")
        return b"".join(parts)

    def readline(self, most):
        at = 0
        while (end := self.buffer.find(b"\n", at)) < 0 and len(self.buffer) < most:
            at = len(self.buffer)
            if not self.fill():
                return self.take(most)
        return self.take(min(end + 1, most) if end >= 0 else most)


FORMATS = [(b"\x80", Snapshot), (b"Thread,Time,Action,Pointer,Size,Stream", Rmm), (b"v ", Heaptrack)]


def read(path):
    source = Source(path)
    try:
        for start, form in FORMATS:
            if source.peek(len(start)) == start:
                return form(source)
        if source.error:
            raise Refused(0, source.error)
        if source.peek(5) == b"ALTR1":
            raise Refused(0, "the file is a trace already; run ./dev replay")
        raise Refused(0, "the file is none of these: a memory snapshot of PyTorch, a file of heaptrack, a log of RMM")
    finally:
        source.close()


def report(path, trace):
    frees = trace.count - trace.blocks
    print(f"{path}: {trace.blocks} allocations, {frees} deallocations; at most {trace.peak} bytes live", file=sys.stderr)
    for count, text in [
            (trace.unknown, "deallocations are not in the trace: their blocks were allocated before the record"),
            (trace.conflicts, "blocks were freed without an event before their addresses were used again"),
            (trace.failed, "allocations failed; they are not in the trace")]:
        if count:
            print(f"    {count} {text}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(prog="./dev record --convert", allow_abbrev=False)
    parser.add_argument("--out", metavar="FILE", help="the trace (default: the name of FILE with .altr)")
    parser.add_argument("file", metavar="FILE")
    asked = parser.parse_args()
    try:
        made = read(asked.file)
        error, traces = made.error, {device: trace for device, trace in made.traces.items() if trace.count}
        if not traces:
            raise error or Refused(0, "the file has no allocations")
        out = Path(asked.out or Path(asked.file).name + ".altr")
        for device, trace in traces.items():
            path = out if len(traces) == 1 else out.with_suffix(f".{device}{out.suffix}")
            trace.write(path)
            print(path, flush=True)
            report(path, trace)
    except (Refused, OSError) as refused:
        print(f"dev: {asked.file}: {refused}", file=sys.stderr)
        return 2
    if error is not None:
        print(f"dev: {asked.file}: {error}; the events before it are in the trace", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
