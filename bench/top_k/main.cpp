// rungs_top_k: how long it takes to choose the greatest keys of rows of floats, and to draw a token of rows of logits,
// at the shapes of inference. Cold, as rungs_bench takes it, all ways of a shape together. A way whose choice is wrong
// has no time.
//
//   rungs_top_k [FILE]      JSON to FILE, or to standard output
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "build_info.hpp"
#include "check.hpp"
#include "contender.hpp"
#include "device.hpp"
#include "environment.hpp"
#include "exit_codes.hpp"
#include "program.hpp"
#include "top_k/ways.hpp"

namespace rungs::bench {
namespace {

constexpr std::size_t vocabulary = 128 * 1024;
constexpr top_k_shape shapes[] = {{4096, 256, 8},
                                  {65536, 256, 8},
                                  {1, vocabulary, 1},
                                  {1, vocabulary, 64},
                                  {1, vocabulary, 1024},
                                  {8, vocabulary, 64},
                                  {64, vocabulary, 1},
                                  {64, vocabulary, 64},
                                  {64, vocabulary, 1024},
                                  {2048, vocabulary, 64},
                                  {2048, vocabulary, 1024},
                                  {256, vocabulary, 4096},
                                  {1, std::size_t{1} << 28, 64}};
constexpr std::size_t sampled_tokens = 128512;
constexpr sampling_shape sampling_shapes[] = {
    {1, sampled_tokens, false}, {8, sampled_tokens, false}, {64, sampled_tokens, false}, {256, sampled_tokens, true}};
constexpr double deviations[] = {1, 5};
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

// Whether a way may have written this word for a row: a token, which of top_p has to be among those whose greater ones
// have less than that share, or the log-sum-exp.
bool may_be(std::span<const float> row, std::int32_t word, std::string_view rung) {
  double sum = 0, above = 0;
  const bool is_token = rung != "log_sum_exp";
  if (is_token && (word < 0 || static_cast<std::size_t>(word) >= row.size())) return false;
  for (const float logit : row) {
    sum += std::exp(static_cast<double>(logit));
    if (is_token && logit > row[static_cast<std::size_t>(word)]) above += std::exp(static_cast<double>(logit));
  }
  if (!is_token) return std::fabs(std::bit_cast<float>(word) - std::log(sum)) < 1e-4;
  return rung != "top_p" || above < (sampled_share + 1e-4) * sum;
}

class study {
 public:
  explicit study(const device_facts& device) : items_(num_items), memory_(num_items * sizeof(float)), bench_(device) {
    for (std::size_t i = 0; i < num_items; ++i) items_[i] = key_of(i);
    check(cudaMemcpy(memory_.get(), items_.data(), memory_.size(), cudaMemcpyHostToDevice));
  }

  json of(const top_k_shape& shape) {
    const auto ways = ways_to_choose(shape);
    const std::size_t results = shape.num_rows * shape.k;
    const device_memory out(results * (sizeof(float) + sizeof(int)));
    std::vector<device_memory> storage;
    std::vector<contender> all;
    std::vector<std::size_t> timed;
    json told = json::array();
    for (const auto& one : ways) {
      contender each;
      each.record = &one;
      each.arguments.d_in = memory_.get();
      each.arguments.d_out = out.get();
      each.arguments.num_rows = shape.num_rows;
      each.arguments.num_columns = shape.num_columns;
      each.arguments.num_items = shape.k;
      check(one.call(nullptr, each.workspace_bytes, each.arguments, bench_.stream()));
      storage.emplace_back(each.workspace_bytes);
      each.workspace = storage.back().get();
      check(cudaMemset(out.get(), 0xff, out.size()));
      check(each.call(bench_.stream()));
      bench_.synchronize();
      std::vector<int> columns(results);
      check(cudaMemcpy(columns.data(), static_cast<float*>(out.get()) + results, results * sizeof(int),
                       cudaMemcpyDeviceToHost));
      bool right = true;
      for (std::size_t row = 0; row < shape.num_rows; ++row)
        right = right && is_right(std::span(items_).subspan(row * shape.num_columns, shape.num_columns),
                                  std::span(columns).subspan(row * shape.k, shape.k), one.deterministic);
      told.push_back({{"family", name(one.family)}, {"rung", one.rung}, {"storage_bytes", each.workspace_bytes}});
      if (right)
        timed.push_back(all.size());
      else
        told.back()["wrong"] = true;
      all.push_back(each);
    }
    take_times(all, timed, static_cast<double>(shape.num_rows * shape.num_columns) * sizeof(float), told);
    return {{"rows", shape.num_rows}, {"columns", shape.num_columns}, {"k", shape.k}, {"ways", told}};
  }

  // Logits are normal with this deviation: with 1 most tokens matter, with 5 few do.
  json of_sampling(const sampling_shape& shape, double deviation) {
    const std::size_t num_logits = shape.num_rows * shape.num_columns;
    std::vector<float> logits(num_logits);
    std::mt19937 engine(1);
    std::normal_distribution<float> normal(0, static_cast<float>(deviation));
    for (float& each : logits) each = normal(engine);
    const device_memory in(num_logits * sizeof(float)), out(shape.num_rows * sizeof(int));
    if (shape.halves) {  // cut after 16 bits
      std::vector<std::uint16_t> halves(num_logits);
      for (std::size_t i = 0; i < num_logits; ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(logits[i]) & 0xffff0000;
        halves[i] = static_cast<std::uint16_t>(bits >> 16);
        logits[i] = std::bit_cast<float>(bits);
      }
      check(cudaMemcpy(in.get(), halves.data(), num_logits * sizeof(std::uint16_t), cudaMemcpyHostToDevice));
    } else {
      check(cudaMemcpy(in.get(), logits.data(), num_logits * sizeof(float), cudaMemcpyHostToDevice));
    }
    const auto ways = ways_to_sample(shape);
    std::vector<device_memory> storage;
    std::vector<contender> all;
    std::vector<std::size_t> timed;
    json told = json::array();
    for (const auto& one : ways) {
      contender each;
      each.record = &one;
      each.arguments.d_in = in.get();
      each.arguments.d_out = out.get();
      each.arguments.num_rows = shape.num_rows;
      each.arguments.num_columns = shape.num_columns;
      check(one.call(nullptr, each.workspace_bytes, each.arguments, bench_.stream()));
      storage.emplace_back(each.workspace_bytes);
      each.workspace = storage.back().get();
      check(cudaMemset(out.get(), 0xff, out.size()));
      check(each.call(bench_.stream()));
      bench_.synchronize();
      std::vector<std::int32_t> words(shape.num_rows);
      check(cudaMemcpy(words.data(), out.get(), out.size(), cudaMemcpyDeviceToHost));
      bool right = true;
      for (std::size_t row = 0; row < shape.num_rows; ++row)
        right = right &&
                may_be(std::span(logits).subspan(row * shape.num_columns, shape.num_columns), words[row], one.rung);
      told.push_back({{"family", name(one.family)}, {"rung", one.rung}, {"storage_bytes", each.workspace_bytes}});
      if (right)
        timed.push_back(all.size());
      else
        told.back()["wrong"] = true;
      all.push_back(each);
    }
    take_times(all, timed, static_cast<double>(num_logits) * (shape.halves ? sizeof(std::uint16_t) : sizeof(float)),
               told);
    return {{"rows", shape.num_rows},
            {"columns", shape.num_columns},
            {"input", shape.halves ? "bf16" : "f32"},
            {"deviation", deviation},
            {"ways", told}};
  }

 private:
  void take_times(const std::vector<contender>& all, const std::vector<std::size_t>& timed, double read_bytes,
                  json& told) {
    std::vector<const contender*> own;
    for (const std::size_t i : timed) own.push_back(&all[i]);
    const auto times = cold_times(bench_, clocks_, own);
    for (std::size_t i = 0; i < timed.size(); ++i) {
      if (times[i].count == 0) continue;
      told[timed[i]].update(to_json(times[i]));
      told[timed[i]]["read_tb_per_s"] = read_bytes / times[i].median * 1e-6;
    }
  }

  std::vector<float> items_;
  device_memory memory_;
  event_bench bench_;
  clock_guard clocks_;
};

int run(const std::string& out) {
  const environment surroundings;
  const auto device = find_device_or_tell("rungs_top_k");
  if (!device) return exit_no_gpu;
  study all(*device);
  json told = json::array();
  bool wrong = false;
  for (const top_k_shape& shape : shapes) {
    std::cerr << shape.num_rows << " x " << shape.num_columns << ", k " << shape.k << '\n';
    told.push_back(all.of(shape));
    for (const auto& way : told.back()["ways"]) wrong = wrong || way.contains("wrong");
  }
  json sampled = json::array();
  for (const sampling_shape& shape : sampling_shapes)
    for (const double deviation : deviations) {
      std::cerr << "sampling " << shape.num_rows << " x " << shape.num_columns << '\n';
      sampled.push_back(all.of_sampling(shape, deviation));
      for (const auto& way : sampled.back()["ways"]) wrong = wrong || way.contains("wrong");
    }
  const json file{{"schema", "rungs.top_k_study/1"},
                  {"gpu", slug(device->name)},
                  {"commit", build::commit},
                  {"versions", {{"driver", surroundings.driver_version()}, {"nvcc", build::nvcc_version}}},
                  {"left_out", ways_left_out()},
                  {"shapes", told},
                  {"sampling", sampled}};
  write_result(out, file);
  return wrong ? exit_wrong : exit_ok;
}

}  // namespace
}  // namespace rungs::bench

int main(int argc, char** argv) {
  return rungs::bench::run_program("rungs_top_k", [&] { return rungs::bench::run(argc > 1 ? argv[1] : ""); });
}
