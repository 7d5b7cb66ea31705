// rungs_top_k: how long it takes to choose the greatest keys of rows of floats, at the shapes of inference, beside
// CUB's calls, a plain read and an empty kernel. Cold, as rungs_bench takes it, all ways of a shape together. A way
// whose choice is wrong has no time.
//
//   rungs_top_k [FILE [FILTER]]      JSON to FILE, or to standard output
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "inference/study.hpp"
#include "top_k/ways.hpp"

namespace rungs::bench {
namespace {

constexpr std::size_t vocabulary = 128 * 1024, experts = 256;
constexpr top_k_shape shapes[] = {{1, experts, 8},
                                  {8, experts, 8},
                                  {256, experts, 8},
                                  {1024, experts, 8},
                                  {4096, experts, 8},
                                  {8192, experts, 8},
                                  {65536, experts, 8},
                                  {1, vocabulary, 1},
                                  {1, vocabulary, 64},
                                  {1, vocabulary, 1024},
                                  {8, vocabulary, 64},
                                  {8, vocabulary, 1024},
                                  {64, vocabulary, 1},
                                  {64, vocabulary, 64},
                                  {64, vocabulary, 1024},
                                  {2048, vocabulary, 64},
                                  {2048, vocabulary, 1024},
                                  {256, vocabulary, 4096},
                                  {256, 2 * vocabulary, 1024},
                                  {4, 8192, 512},
                                  {4, 65536, 512},
                                  {16, 65536, 512},
                                  {1, std::size_t{1} << 28, 64}};
constexpr std::size_t num_items = std::size_t{1} << 28;

// Scattered over [-8, 8), with 24 bits: of 2^28 many are equal.
float key_of(std::size_t index) {
  std::uint64_t bits = index * 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93;
  return static_cast<float>(bits >> 40) * 0x1p-20f - 8;
}

// Whether the columns are those of the greatest keys: k different ones, and where they come sorted none before the
// last but k - 1; else as many keys as are greater than the least are among them.
bool is_right(std::span<const float> row, std::span<const int> columns, bool sorted) {
  std::vector<int> found(columns.begin(), columns.end());
  const auto before = [&](int a, int b) { return row[a] > row[b] || (row[a] == row[b] && a < b); };
  for (const int column : found)
    if (column < 0 || static_cast<std::size_t>(column) >= row.size()) return false;
  if (!sorted) std::sort(found.begin(), found.end(), before);
  for (std::size_t i = 1; i < found.size(); ++i)
    if (!before(found[i - 1], found[i])) return false;
  const int last = found.back();
  std::size_t greater = 0, earlier = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    greater += row[i] > row[last];
    earlier += row[i] == row[last] && i < static_cast<std::size_t>(last);
  }
  const auto found_greater =
      std::count_if(found.begin(), found.end(), [&](int column) { return row[column] > row[last]; });
  return greater == static_cast<std::size_t>(found_greater) && (!sorted || greater + earlier == found.size() - 1);
}

// Whether these are the keys of the columns, or the columns' shares of the softmax.
bool are_right(std::span<const float> row, std::span<const int> columns, std::span<const float> values, bool weights) {
  double sum = 0;
  if (weights)
    for (const float logit : row) sum += std::exp(static_cast<double>(logit));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const float key = row[static_cast<std::size_t>(columns[i])];
    if (!weights && std::bit_cast<std::uint32_t>(values[i]) != std::bit_cast<std::uint32_t>(key)) return false;
    const double share = weights ? std::exp(static_cast<double>(key)) / sum : 0;
    if (weights && !(std::fabs(values[i] - share) <= 0x1p-15 * share)) return false;
  }
  return true;
}

// What a way has written.
std::string defect_of(const std::vector<float>& items, const top_k_shape& shape, const way_to_choose& by,
                      const void* d_out) {
  const std::size_t stride = by.stride, num_results = shape.num_rows * stride;
  const auto* const d_values = static_cast<const float*>(d_out);
  const auto values = inference::on_host<float>(d_values, num_results);
  const auto columns = inference::on_host<int>(d_values + num_results, num_results);
  return inference::wrong_row(shape.num_rows, [&](std::size_t i) {
    const auto row = std::span(items).subspan(i * shape.num_columns, shape.num_columns);
    const auto chosen = std::span(columns).subspan(i * stride, shape.k);
    return is_right(row, chosen, by.sorted) &&
           are_right(row, chosen, std::span(values).subspan(i * stride, shape.k), by.writes_weights);
  });
}

void measure(inference::study& all) {
  std::vector<float> items(num_items);
  inference::in_parallel(num_items, [&items](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) items[i] = key_of(i);
  });
  const device_memory in = inference::on_device(items), columns(num_items * sizeof(int)),
                      out(num_items * (sizeof(float) + sizeof(int)));
  for (const top_k_shape& shape : shapes) {
    inference::cell cell;
    cell.work = shape.is_routing() ? "route" : "top_k";
    cell.input = "f32";
    cell.rows = shape.num_rows;
    cell.columns = shape.num_columns;
    cell.parameter = "k " + std::to_string(shape.k);
    cell.read_bytes = shape.num_rows * shape.num_columns * sizeof(float);
    cell.written_bytes = shape.num_rows * shape.k * (sizeof(float) + sizeof(int));
    cell.roof_in = in.get();
    cell.d_out = out.get();
    cell.out_bytes = shape.most_out_bytes();
    if (!all.wants(cell)) continue;
    check(inference::fill_columns(static_cast<int*>(columns.get()), shape.num_rows, shape.num_columns));
    check(cudaDeviceSynchronize());
    for (const way_to_choose& by : ways_to_choose(shape)) {
      cell.ways.push_back({by.role,
                           by.name,
                           by.call,
                           {.d_in = in.get(),
                            .d_out = out.get(),
                            .num_items = shape.k,
                            .num_rows = shape.num_rows,
                            .num_columns = shape.num_columns,
                            .d_second = columns.get()},
                           [&, by] { return defect_of(items, shape, by, out.get()); }});
    }
    for (const way_left_out& one : ways_left_out(shape)) all.leave_out(cell.name(), one.name, one.reason);
    all.measure(cell);
  }
}

}  // namespace
}  // namespace rungs::bench

int main(int argc, char** argv) {
  return rungs::bench::inference::run("rungs_top_k", argc, argv, rungs::bench::measure);
}
