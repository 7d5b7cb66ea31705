// What rungs_top_k, rungs_low_precision and rungs_sampling have in common: a cell's calls are verified, then timed
// together, cold, and become a file of the schema rungs.inference/1 (report/SCHEMA.md).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "contender.hpp"
#include "device.hpp"
#include "environment.hpp"
#include "inference/calls.hpp"
#include "instruments.hpp"
#include "program.hpp"
#include "sampler.hpp"
#include "statistics.hpp"

namespace rungs::bench::inference {

// One way to do a cell's work. Of ours the first is what rivals are compared with.
struct way {
  inference::role role{};
  std::string name;
  catalog::call_t call = nullptr;
  catalog::arguments arguments;
  // What is wrong with what a call has written to d_out; empty where it is right. A roof has none.
  std::function<std::string()> defect;
};

struct cell {
  std::string work, input;      // "top_k", "f32"
  std::string parameter, data;  // "k 64", "normal, deviation 1"
  std::size_t rows = 0, columns = 0;
  std::size_t read_bytes = 0, written_bytes = 0;  // the least that a call has to move
  // A plain read of as many bytes as the call reads, or a plain copy of as many as it reads and writes, is the roof.
  bool roof_copies = false;
  const void* roof_in = nullptr;  // as many bytes as the roof reads
  void* d_out = nullptr;          // of all ways, and of a roof that copies
  std::size_t out_bytes = 0;
  std::vector<inference::way> ways;

  std::string name() const;
  std::size_t bytes() const { return read_bytes + written_bytes; }
};

struct result {
  inference::role role{};
  std::string name, defect;
  std::size_t storage_bytes = 0;
  std::vector<double> samples;
};
struct measured_cell {
  inference::cell about;  // without its ways
  std::vector<result> results;
  std::vector<double> twin;  // the second entry of the first of ours
};
struct omission {
  std::string cell, name, reason;
};

class study {
 public:
  // `filter`: only cells whose name has a match of this regular expression.
  study(const device_facts& device, const std::string& filter);

  const event_bench& bench() const { return bench_; }
  bool wants(const cell& about) const;
  void measure(const cell& about);
  void leave_out(const std::string& cell, const std::string& name, const std::string& reason);

  // Writes what was found, and returns the exit code: a wrong result of ours, or an error of ours, is a failure.
  int write(const std::string& path, const std::string& program, const environment& surroundings,
            const device_facts& device, const json& before, const std::vector<std::string>& arguments) const;

 private:
  std::string filter_;
  event_bench bench_;
  clock_guard clocks_;
  std::vector<measured_cell> cells_;
  std::vector<omission> omissions_;
  bool ours_failed_ = false;
  double start_ = seconds_now();
};

// f(first, last) of parts of [0, n), each in a thread of its own.
template <class F>
void in_parallel(std::size_t n, F f) {
  const std::size_t parts = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  for (std::size_t part = 0; part < parts; ++part)
    threads.emplace_back([=] { f(n * part / parts, n * (part + 1) / parts); });
}

// The first row that is_right(row) says no to, in words; empty where there is none.
template <class F>
std::string wrong_row(std::size_t num_rows, F is_right) {
  std::atomic<std::size_t> wrong = num_rows;
  in_parallel(num_rows, [&](std::size_t first, std::size_t last) {
    for (std::size_t row = first; row < last && wrong == num_rows; ++row)
      if (!is_right(row)) wrong = row;
  });
  return wrong == num_rows ? "" : "row " + std::to_string(wrong) + " is wrong";
}

template <class T>
std::vector<T> on_host(const void* d_from, std::size_t count) {
  std::vector<T> items(count);
  check(cudaMemcpy(items.data(), d_from, count * sizeof(T), cudaMemcpyDeviceToHost));
  return items;
}
template <class T>
device_memory on_device(const std::vector<T>& items) {
  device_memory memory(items.size() * sizeof(T));
  check(cudaMemcpy(memory.get(), items.data(), memory.size(), cudaMemcpyHostToDevice));
  return memory;
}

// What the three programs' main() does: program [FILE [FILTER]], where cells(study) measures.
template <class Cells>
int run(const std::string& program, int argc, char** argv, const Cells& cells) {
  return run_program(program, [&] {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() > 2) throw usage_error("more than a file and a filter");
    const environment surroundings;
    const auto device = find_device_or_tell(program);
    if (!device) return static_cast<int>(exit_no_gpu);
    const json before = surroundings.read(*device);
    study all(*device, arguments.size() > 1 ? arguments[1] : "");
    cells(all);
    return all.write(arguments.empty() ? "" : arguments[0], program, surroundings, *device, before, arguments);
  });
}

}  // namespace rungs::bench::inference
