#!/usr/bin/python3
"""Plays requests on the page caches of vLLM and SGLang: pages_peers.py TRACE CAPACITY...

vLLM: BlockPool with the calls that its manager makes for a request (get_cached_block, touch, get_new_blocks,
cache_full_blocks, free_blocks in reverse order). SGLang: RadixCache, where one token of a key stands for a page. Both
are single objects of the installed packages; the rest of the servers does not run. A package that is not installed is
skipped. The lines have the format of the program pages_benchmark: name, capacity, pages found, nanoseconds of the
processor a page, the least of three runs.
"""

import array
import importlib.metadata
import json
import sys
import time


def requests(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line)["hash_ids"] for line in lines]


class Vllm:
    """The block pool of vLLM."""

    package = "vllm"

    def __init__(self, capacity):
        from vllm.v1.core.block_pool import BlockPool

        self.pool = BlockPool(capacity + 1, True, 512)  # one block is its null block

    def play(self, pages):
        hits = []
        for page in pages:
            block = self.pool.get_cached_block(page, [0])
            if block is None:
                break
            hits += block
        self.pool.touch(hits)
        blocks = hits + self.pool.get_new_blocks(len(pages) - len(hits))
        self.block_hashes = pages
        self.pool.cache_full_blocks(self, blocks, len(hits), len(blocks), 512, 0)
        self.pool.free_blocks(reversed(blocks))
        return len(hits)

    @staticmethod
    def key(page):
        return page.to_bytes(32, "little")


class Sglang:
    """The radix cache of SGLang."""

    package = "sglang"

    def __init__(self, capacity):
        import torch
        import sglang.srt.mem_cache.base_prefix_cache as base_prefix_cache
        import sglang.srt.mem_cache.radix_cache as radix_cache

        self.torch, self.base, self.key_type = torch, base_prefix_cache, radix_cache.RadixKey
        self.free, self.device = list(range(capacity)), "cpu"
        self.cache = radix_cache.RadixCache.create_simulated(mock_allocator=self)

    def free_segment(self, indices, start_pos):  # of the allocator that the cache calls
        self.free += indices.tolist()

    def play(self, pages):
        key = self.key_type(array.array("q", pages))
        found = self.cache.match_prefix(self.base.MatchPrefixParams(key=key))
        hits, node = found.device_prefix_len, found.last_device_node
        self.cache.inc_lock_ref(node)
        new = len(pages) - hits
        if new > len(self.free):
            self.cache.evict(self.base.EvictParams(num_tokens=new - len(self.free)))
        values = self.torch.empty(len(pages), dtype=self.torch.int64)
        if new:
            values[hits:] = self.torch.tensor(self.free[-new:])
            del self.free[-new:]
        self.cache.insert(self.base.InsertParams(key=key, value=values))
        self.cache.dec_lock_ref(node)
        return hits

    @staticmethod
    def key(page):
        return page


def main(arguments):
    trace = requests(arguments[0])
    for subject in (Vllm, Sglang):
        try:
            version = importlib.metadata.version(subject.package)
            subject(1000)
        except ImportError as missing:
            print(f"skipped: {subject.package} is not installed ({missing})")
            continue
        print(f"\n{subject.package} {version}\n\n| policy | pages | found % | ns a page |\n|---|--:|--:|--:|")
        keyed = [[subject.key(page) for page in pages] for pages in trace]
        for capacity in map(int, arguments[1:]):
            spent = sys.maxsize
            for _ in range(3):
                cache = subject(capacity)
                start = time.process_time_ns()
                hits = sum(map(cache.play, keyed))
                spent = min(spent, time.process_time_ns() - start)
            total = sum(map(len, trace))
            name = f"{subject.package} {version}"
            print(f"| {name:<25} | {capacity:>8} | {100 * hits / total:>8.2f} | {spent / total:>8.0f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
