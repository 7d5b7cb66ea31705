// Which cases a run measures, in which order. A problem is what contenders share: operation, types, shape, distribution
// and number of items. A cell is a problem in one mode; a case is one contender in one cell.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "catalog.hpp"
#include "device.hpp"
#include "instruments.hpp"
#include "samples.hpp"
#include "shape.hpp"

namespace rungs::bench {

// Cells beside those of the default suite, with sizes and bins of their own.
// held_out    what the front door answers, at sizes, bins and alignments that its tables were not made from
// histograms  every kind of samples with every number of bins and distribution
enum class grid : unsigned char { none, held_out, histograms };
inline constexpr grid all_grids[] = {grid::held_out, grid::histograms};
constexpr std::string_view name(grid value) {
  constexpr std::string_view names[] = {"", "held_out", "histograms"};
  return names[static_cast<int>(value)];
}

struct selection {
  std::string filter = {};                       // ECMAScript regular expression searched in a case's name; empty: all
  std::string beside = {};                       // name of a rung: only what it solves, and it always; empty: all
  std::vector<mode> modes = {};                  // empty: the default suite's
  std::vector<std::size_t> sizes = {};           // likewise
  std::vector<std::string> types = {};           // "f32" or "f16:f32"; likewise
  std::vector<std::size_t> bins = {};            // likewise; with any of them, only what has bins
  std::vector<distribution> distributions = {};  // likewise; what has no bins is uniform
  bench::grid grid = bench::grid::none;
  bool full = false;
  bool dirty_flush = false;
  int shard = 1, num_shards = 1;

  bool operator==(const selection&) const = default;
};

struct problem {
  catalog::operation operation{};
  catalog::op op{};
  catalog::scalar input_type{}, accumulator_type{}, output_type{};
  std::size_t num_items = 0;
  bool on_host = false;
  bool every_rung = false;     // else only baselines and what a pilot finds fast
  std::string beside = {};     // this rung as well
  std::size_t most_rungs = 0;  // then no more than so many of those that ask alike of their storage; 0: all
  std::vector<mode> modes = {};
  std::vector<const catalog::record*> contenders = {};
  // Of a histogram bins, and where there are several channels, channels and active. Of rows of a matrix rows and
  // columns, of top-k also k, of selections the percentage of chosen items, of atomics addresses, of chains threads,
  // and of barriers blocks before them. Of all that read, offset where the items do not begin where memory was
  // allocated, but so many of them behind.
  bench::shape shape = {};
  bench::distribution distribution = bench::distribution::uniform;

  // What tells it from others.
  auto key() const {
    return std::tuple(operation, op, input_type, accumulator_type, output_type, on_host, shape, distribution,
                      num_items);
  }
  bool reads_nothing() const { return operation == catalog::operation::atomics || catalog::is_chain(operation); }
  bool has_second() const { return catalog::has_second(operation); }
  std::size_t input_bytes() const {
    const std::size_t second = !has_second() ? 0 : catalog::has_rows(operation) ? shape["columns"] : num_items;
    return reads_nothing() ? 0 : (num_items + second) * catalog::size_of(input_type);
  }
  std::size_t output_bytes() const {
    const std::size_t elements = catalog::is_scan(operation) || operation == catalog::operation::row_norm ? num_items
                                 : catalog::is_histogram(operation)
                                     ? shape["bins"] * std::max<std::size_t>(1, shape["active"])
                                 : operation == catalog::operation::arg_extremum    ? catalog::words_of_places(op)
                                 : operation == catalog::operation::select_if       ? num_items * shape["percent"] / 100
                                 : operation == catalog::operation::top_k           ? 2 * shape["rows"] * shape["k"]
                                 : operation == catalog::operation::row_reduce      ? shape["rows"]
                                 : operation == catalog::operation::atomics         ? shape["addresses"]
                                 : operation == catalog::operation::collective_scan ? shape["threads"]
                                 : operation == catalog::operation::barrier         ? shape["blocks"] * shape["threads"]
                                                                                    : 1;
    return elements * catalog::size_of(output_type);
  }
  std::size_t bytes() const { return input_bytes() + output_bytes(); }
  // What ceilings and the limit of the warm modes go by.
  std::size_t footprint() const {
    const bool writes_many = catalog::is_scan(operation) || operation == catalog::operation::row_norm ||
                             operation == catalog::operation::select_if;
    return writes_many || reads_nothing() ? bytes() : input_bytes();
  }
  // What the device's two buffers must hold for the calls, and for the roofs at this footprint.
  std::size_t input_buffer_bytes() const;
  std::size_t output_buffer_bytes() const;
};

// The roofs that bound a problem: reading for what only reads; copying or reading, whichever is faster, for a
// selection; copying for a scan, and where it makes words of bytes or of halves, widening them; where its output's
// items are otherwise wider (narrower) than its input's, copying or writing (reading) alone, whichever is faster; none
// for what reads nothing.
std::vector<catalog::operation> bounding_roofs(const problem& about);
// The roofs that are measured with it.
std::vector<catalog::operation> measured_roofs(const problem& about);

struct bench_case {
  std::size_t problem = 0;  // index
  const catalog::record* record = nullptr;
  bench::mode mode{};
  std::string name;
  bool asked_for = true;  // false: CUB, sampled along because the others are compared with it
};

// Where the second items of pairs begin, behind the first ones: at a multiple of so many bytes and the offset.
inline constexpr std::size_t input_alignment = 256;  // as cudaMalloc's

// What was planned but cannot be or was not measured, and why.
struct omission {
  const catalog::record* record = nullptr;
  std::optional<std::size_t> num_items;
  std::optional<bench::mode> mode;
  std::string reason;
  bench::shape shape = {};
  bench::distribution distribution = bench::distribution::uniform;
};

struct run_plan {
  std::vector<problem> problems;  // in the order of visits
  std::vector<bench_case> cases;  // grouped by problem, in that order
  std::vector<omission> omissions;
};

inline constexpr std::size_t largest_host_items = std::size_t{16} << 20;

// Without a device only host cases are planned, and each device record is an omission with `why_no_device`. Throws
// usage_error for what the catalog cannot answer: a filter that matches nothing, an unknown type, a size that does not
// fit the memory.
run_plan make_plan(std::span<const catalog::record> records, const selection& wanted,
                   const std::optional<device_facts>& device, const std::string& why_no_device);

// Everything that could be measured somewhere: as on a device with room for all.
device_facts imaginary_device();

std::string case_name(const problem& about, const catalog::record& record, mode how);
std::string types_name(const catalog::record& record);
bool is_cub(const catalog::record& record);         // a call of CUB's device-wide interface
bool is_front_door(const catalog::record& record);  // the choice of a rung

}  // namespace rungs::bench
