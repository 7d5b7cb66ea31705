// What a variant says about itself beside its call. Plain C++: bench, tests and report read these words too.
#pragma once

#include <cstddef>

#include "rungs/version.cuh"

namespace rungs::v0 {

// What d_temp_storage must hold before a call.
//   none           no byte of it is read or written
//   uninitialised  anything: CUB's contract
//   zeroed_once    zeros before the first call; each call leaves it ready for the next one of the same stream.
//                  rungs::workspace does this for the caller.
enum class contents : unsigned char { none, uninitialised, zeroed_once };

// guaranteed      a block waits only for blocks that are known to have started
// by_block_order  a block waits for blocks of lower indices, which the hardware starts first: CUB's assumption, too
enum class progress : unsigned char { guaranteed, by_block_order };

// Where the work is done, and so where the pointers must point.
enum class executor : unsigned char { device, host };

// A variant is a struct with these static members; the ones with a default may be left out.
//
//   idea                 const char*   one sentence, printed by the report
//   block_threads        int           threads in a block
//   items_per_thread     int           items a thread takes at a time
//   blocks_per_multiprocessor  int     most blocks of a grid, per multiprocessor; left out: as many as there are tiles
//   deterministic        bool          the same bits for the same input, whatever the address, stream or load
//   summation_height     size_t(size_t num_items)   most additions one item passes through; left out: num_items
//   min_cc               int           lowest compute capability, 10 * major + minor; default 75
//   temp_storage         contents      default uninitialised
//   waits_for_host       bool          the call returns only when the device is done; default false
//   forward_progress     progress      default guaranteed
//   executes_on          executor      default device
//   max_items            size_t        most items it takes; default no limit
//   max_bins             int           of a histogram: most bins it takes; default no limit
//   max_addresses        size_t        of a rung of the study of atomics: most addresses; default no limit
//   max_operations_per_address  size_t  likewise: more on one address would take seconds; default no limit
//   max_k, max_columns   size_t        of top-k: greatest k, and longest row; default no limit
//   takes_group          bool(size_t num_blocks, size_t num_threads)   of a barrier: whether it makes such a group wait
//   propagates_nan       bool          minimum and maximum return NaN if any item is one, and order -0 before +0;
//                                      default true

}  // namespace rungs::v0
