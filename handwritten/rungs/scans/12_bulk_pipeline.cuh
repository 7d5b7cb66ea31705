// Rung 12. Persistent blocks with a pipeline of bulk copies (TMA), which publishes aggregates ahead of its own scan.
// Against 11_one_wave: loading, reducing, looking back and scanning no longer wait for each other. Each multiprocessor
// runs one block of four roles over a ring of tiles in shared memory: one thread orders the copies, a squad of warps
// reduces tiles as they arrive and publishes their aggregates, two warps take turns in adding up what was published
// since the block's last tile, and a squad scans and stores. Tiles reduced ahead of the scan are what hides the
// look-back: with one, CUB's level; with six, 97 % of a copy. After the first round tiles are drawn from a counter, so
// that a block that got ahead takes more. All blocks are resident (a cooperative launch) and each takes its tiles in
// order, so whoever holds the lowest open tile never waits. Source: the look-ahead of CCCL 3.6's scan. Did not help on
// an H200: storing through shared memory by bulk copies (-2 %), evict-first loads (-4 %), two blocks a multiprocessor
// (-8 %), tiles of 4 Ki items (-14 %) and of 16 Ki (-4 %), one warp that looks back (-20 % for bytes), 12 or 16 warps
// that scan (-2 to -11 %; bytes to words at 16 Mi +4 %), two squads that scan in turn (narrow items -1 to -8 %). Narrow
// items are near their limit, too: the fastest kernel found that does nothing but widen 256 Mi bytes to words takes 338
// us, this scan of them 355; halves to floats 396 and 415.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/scan_pipeline.cuh"

namespace rungs::RUNGS_ABI::scans {

struct bulk_pipeline : parts::scan_calls<bulk_pipeline> {
  static constexpr auto idea = "a pipeline of bulk copies that publishes aggregates ahead of its own scan";
  static constexpr int scan_warps = 8, reduce_warps = 8, num_rows = 8;
  static constexpr int block_threads = 608, items_per_thread = 4 * num_rows;  // of the threads that scan
  static constexpr int blocks_per_multiprocessor = 1;
  static constexpr bool deterministic = false;  // how the prefix is added up depends on which tiles a block draws
  static constexpr int min_cc = 90;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::ceil_div(num_items, scan_warps * num_rows * parts::warp_threads) + 64;
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    using any = parts::rows<num_rows, InputIteratorT, OutputIteratorT, T>;
    const auto launch = [&](auto rows, InputIteratorT in, OutputIteratorT out, std::size_t count, int ahead) {
      using pipeline = parts::pipeline<scan_warps, reduce_warps, typename decltype(rows)::named>;
      return parts::launch_pipeline<kind, parts::schedule::drawn, pipeline>(d_temp_storage, temp_storage_bytes, in, out,
                                                                            scan_op, seed, count, ahead, stream);
    };
    return parts::with_aligned_rows<true, any>(d_in, d_out, num_items, launch);
  }
};

}  // namespace rungs::RUNGS_ABI::scans
