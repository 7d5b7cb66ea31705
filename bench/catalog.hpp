// The catalog: one plain record for every (variant, types, operator) that was built. Bench, tests and report read
// nothing else, so what is built cannot be forgotten. Records come from the lines in the CMakeLists.txt of
// handwritten/, cluster/ and library_baselines/ (see cmake/variants.cmake); nothing here knows a variant by name.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "rungs/contract.cuh"

namespace rungs::catalog {

enum class family : unsigned char { handwritten, cluster, library_baselines };
enum class operation : unsigned char {
  reduce,
  inclusive_scan,
  exclusive_scan,
  histogram_even,
  histogram_range,
  multi_histogram_even,
  row_reduce,
  row_norm,
  dot,
  arg_extremum,
  select_if,
  top_k,
  atomics,
  collective_reduce,
  collective_scan,
  barrier,
  stream_read,
  copy,
  fill,
  widen_bytes,
  widen_halves,
  empty
};
enum class op : unsigned char {
  none,
  plus,
  minimum,
  maximum,
  compose,
  minus,
  increment,
  bit_and,
  bit_or,
  bit_xor,
  exchange,
  both  // the minimum and the maximum, of one call
};
// affine is rungs::affine, the pair of 32-bit words that compose does not commute on; f16x2 and bf16x2 are pairs that
// one atomic adds.
enum class scalar : unsigned char {
  none,
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  f16,
  bf16,
  f32,
  f64,
  affine,
  f16x2,
  bf16x2
};

// What one call works on. Pointers are device pointers, or host pointers where the record executes on the host; `init`
// is always a host pointer to one value of the accumulator type. Scans may work in place (d_in == d_out) where input
// and output have the same type. A histogram's output are its num_levels - 1 counters, those of several channels one
// channel after the other; `levels` is a host pointer to the lower and the upper level, for all channels, or for ranges
// a pointer to num_levels levels where d_in points; its samples come pixel by pixel, and num_items counts them, not the
// pixels. The study of atomics reads no input: its output are num_addresses values, num_items counts operations, and
// which operations those are follows from them and the seed (rungs/parts/updates.cuh). Rows of a matrix stand one
// behind the other, num_items = num_rows * num_columns; the output is one value a row, or of norms a row, for which
// d_second points to num_columns weights. A dot product takes num_items
// pairs, of which d_second points to the second items, and no init. What looks for a place takes no init, either: its
// output are two words of 64 bits, the index and one that begins with the item; of both extrema four, those of the
// least first. A selection takes the items less than the one that `levels` points to; its output has room for all of
// them, and behind it for the count (count_behind). Top-k of rows writes the columns of each row's k greatest items, in
// words of 32 bits, and behind those of all rows the items. The studies of costs read none either: num_items counts the
// collectives or barriers of a chain, num_blocks blocks of num_threads take part, and what comes out follows from them
// and the seed (rungs/parts/chains.cuh): of a chain of reductions one word, else one for every thread.
struct arguments {
  const void* d_in = nullptr;
  void* d_out = nullptr;
  std::size_t num_items = 0;
  const void* init = nullptr;
  int num_levels = 0;
  const void* levels = nullptr;
  std::size_t num_addresses = 0;
  unsigned seed = 0;
  std::size_t num_blocks = 1, num_threads = 1;
  std::size_t num_rows = 0, num_columns = 0, k = 0;
  const void* d_second = nullptr;
};

// CUB's two-phase contract: a null d_temp_storage only answers temp_storage_bytes.
using call_t = cudaError_t (*)(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments&, cudaStream_t);
using height_t = std::size_t (*)(std::size_t num_items);
using group_t = bool (*)(std::size_t num_blocks, std::size_t num_threads);

struct record {
  catalog::family family{};
  std::string_view ladder{};  // folder: "reductions"
  std::string_view rung{};    // the struct's name: "warp_shuffle"
  int number = -1;            // orders the ladder: 6; -1 where the file has none
  std::string_view source{};  // from the repository's root: "handwritten/rungs/reductions/06_warp_shuffle.cuh"
  std::string_view idea{};

  catalog::operation operation{};
  catalog::op op{};
  scalar input_type{}, accumulator_type{}, output_type{};  // of a histogram: samples, counters, counters
  scalar level_type = scalar::none;                        // histograms only
  int num_channels = 1, num_active_channels = 1;           // histograms: samples a pixel, and how many of them count

  int block_threads = 0, items_per_thread = 0;
  int blocks_per_multiprocessor = 0;  // 0: the grid follows the number of items alone
  bool deterministic = false;
  bool waits_for_host = false;
  bool propagates_nan = true;
  bool takes_init = true;  // false: the call ignores arguments::init (CUB's InclusiveScan)
  int min_cc = 75;
  contents temp_storage = contents::uninitialised;
  progress forward_progress = progress::guaranteed;
  executor executes_on = executor::device;
  std::size_t max_items = std::numeric_limits<std::size_t>::max();
  int max_bins = std::numeric_limits<int>::max() - 1;
  std::size_t max_columns = std::numeric_limits<std::size_t>::max(), max_k = max_columns;  // top-k only
  std::size_t max_addresses = std::numeric_limits<unsigned>::max();                        // atomics only
  // Atomics only: where more operations than this meet on an address, the call takes seconds to minutes.
  std::size_t max_operations_per_address = std::numeric_limits<std::size_t>::max();

  call_t call = nullptr;
  height_t summation_height = nullptr;  // null: bounded by num_items only; of a row, by its columns
  group_t takes_group = nullptr;        // studies of costs only: who can take part
};

// Every record, in the order of the CMake lines.
std::span<const record> all();

// Whether rungs are enrolled for it; else it is a roof.
constexpr bool is_computation(operation value) { return value < operation::stream_read; }

constexpr bool is_scan(operation value) {
  return value == operation::inclusive_scan || value == operation::exclusive_scan;
}

constexpr bool has_rows(operation value) {
  return value == operation::row_reduce || value == operation::row_norm || value == operation::top_k;
}

// Whether there is a second input, of as many items. Of rows' norms those of one row are taken, its weights.
constexpr bool has_second(operation value) { return value == operation::dot || value == operation::row_norm; }

// Added to the mean square of a row.
inline constexpr float norm_epsilon = 1e-5f;

// What looks for places answers two words for each.
constexpr std::size_t words_of_places(op value) { return value == op::both ? 4 : 2; }

// Where a selection writes how many items are chosen: in the first 64 bits, aligned to them, behind the room for all.
inline long long* count_behind(void* d_out, std::size_t num_items, std::size_t item_bytes) {
  const auto end = reinterpret_cast<std::uintptr_t>(d_out) + num_items * item_bytes;
  return reinterpret_cast<long long*>((end + sizeof(long long) - 1) / sizeof(long long) * sizeof(long long));
}
// Room for the count, wherever d_out begins.
inline constexpr std::size_t count_room_bytes = 2 * sizeof(long long);

constexpr bool is_histogram(operation value) {
  return value == operation::histogram_even || value == operation::histogram_range ||
         value == operation::multi_histogram_even;
}

// The studies of costs: chains that read nothing.
constexpr bool is_chain(operation value) {
  return value == operation::collective_reduce || value == operation::collective_scan || value == operation::barrier;
}

// The CCCL release (CUB, Thrust, libcu++) that the catalog was built against: "3.0.1".
std::string_view cccl_version();

constexpr std::string_view name(family value) {
  constexpr std::string_view names[] = {"handwritten", "cluster", "library_baselines"};
  return names[static_cast<int>(value)];
}
constexpr std::string_view name(operation value) {
  constexpr std::string_view names[] = {"reduce",         "inclusive_scan",    "exclusive_scan",
                                        "histogram_even", "histogram_range",   "multi_histogram_even",
                                        "row_reduce",     "row_norm",          "dot",
                                        "arg_extremum",   "select_if",         "top_k",
                                        "atomics",        "collective_reduce", "collective_scan",
                                        "barrier",        "stream_read",       "copy",
                                        "fill",           "widen_bytes",       "widen_halves",
                                        "empty"};
  return names[static_cast<int>(value)];
}
constexpr std::string_view name(op value) {
  constexpr std::string_view names[] = {"",          "plus",    "minimum", "maximum", "compose",  "minus",
                                        "increment", "bit_and", "bit_or",  "bit_xor", "exchange", "both"};
  return names[static_cast<int>(value)];
}
constexpr std::string_view name(scalar value) {
  constexpr std::string_view names[] = {"",    "i8",  "u8",   "i16", "u16", "i32",    "u32",   "i64",
                                        "u64", "f16", "bf16", "f32", "f64", "affine", "f16x2", "bf16x2"};
  return names[static_cast<int>(value)];
}
constexpr std::string_view name(contents value) {
  constexpr std::string_view names[] = {"none", "uninitialised", "zeroed_once"};
  return names[static_cast<int>(value)];
}
constexpr std::size_t size_of(scalar value) {
  constexpr std::size_t sizes[] = {0, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8, 4, 4};
  return sizes[static_cast<int>(value)];
}

}  // namespace rungs::catalog
