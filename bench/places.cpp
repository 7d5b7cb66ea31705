#include "places.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>

#include "check.hpp"

namespace rungs::bench {
namespace {

constexpr int output_poison = 0xa5, workspace_poison = 0xc3, most_repeats = 64;
constexpr std::size_t alignment = 256;  // as cudaMalloc's

std::size_t aligned(std::size_t num_bytes) { return (num_bytes + alignment - 1) / alignment * alignment; }

std::size_t output_bytes(const contender& one) { return catalog::size_of(one.record->output_type); }

// The size query of each contender, and then an output and a workspace of its own at an offset of one arena.
struct layout {
  std::vector<cudaError_t> errors;
  std::vector<std::size_t> outputs, workspaces;
  std::size_t total = 0;

  layout(std::span<contender> contenders, cudaStream_t stream) {
    for (contender& one : contenders) {
      one.workspace_bytes = 0;
      errors.push_back(one.record->call(nullptr, one.workspace_bytes, one.arguments, stream));
      outputs.push_back(total);
      workspaces.push_back(total += alignment);
      total += aligned(one.workspace_bytes);
    }
  }
};

int first_byte(const contender& one) {
  return one.record->temp_storage == contents::zeroed_once ? 0 : workspace_poison;
}

}  // namespace

device_place::device_place(const device_facts& facts, std::size_t largest_input_bytes)
    : bench_(facts),
      input_(std::max<std::size_t>(largest_input_bytes, alignment)),
      roof_output_(input_.size()),
      summaries_(device_work::max_summaries * sizeof(summary_of_items)),
      repeats_(most_repeats * sizeof(value_bytes)) {}

summary_of_items device_place::fill(const workload& from) {
  check(device_work::generate(from, input_.get(), stream()));
  std::vector<summary_of_items> parts(device_work::max_summaries);
  check(device_work::summarise(from.type, input_.get(), from.num_items,
                               static_cast<summary_of_items*>(summaries_.get()), stream()));
  check(cudaMemcpyAsync(parts.data(), summaries_.get(), parts.size() * sizeof parts[0], cudaMemcpyDeviceToHost,
                        stream()));
  bench_.synchronize();
  summary_of_items all;
  for (const auto& part : parts) merge(all, part);
  return all;
}

std::vector<cudaError_t> device_place::bind(std::span<contender> contenders) {
  for (contender& one : contenders) {
    if (one.arguments.d_in == nullptr) one.arguments.d_in = input_.get();
  }
  const layout plan(contenders, stream());
  cudaGetLastError();
  if (plan.total > arena_.size()) {
    arena_ = device_memory();
    arena_ = device_memory(plan.total + plan.total / 4);
  }
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    contender& one = contenders[i];
    auto* const base = static_cast<unsigned char*>(arena_.get());
    if (one.arguments.d_out == nullptr) one.arguments.d_out = base + plan.outputs[i];
    one.workspace = base + plan.workspaces[i];
    if (one.workspace_bytes != 0) check(cudaMemsetAsync(one.workspace, first_byte(one), one.workspace_bytes, stream()));
  }
  bench_.synchronize();
  return plan.errors;
}

cudaError_t device_place::call(const contender& one) {
  const cudaError_t error = one.call(stream());
  if (error != cudaSuccess) {
    cudaGetLastError();
    return error;
  }
  bench_.synchronize();  // a kernel that faults ends the run: the context is lost
  return cudaSuccess;
}

void device_place::poison_output(const contender& one) {
  check(cudaMemsetAsync(one.arguments.d_out, output_poison, output_bytes(one), stream()));
}

value_bytes device_place::output(const contender& one) {
  value_bytes bytes{};
  check(cudaMemcpyAsync(bytes.data(), one.arguments.d_out, output_bytes(one), cudaMemcpyDeviceToHost, stream()));
  bench_.synchronize();
  return bytes;
}

std::vector<value_bytes> device_place::repeat(const contender& one, int count) {
  std::vector<value_bytes> outputs(static_cast<std::size_t>(std::min(count, most_repeats)));
  check(cudaMemsetAsync(repeats_.get(), 0, repeats_.size(), stream()));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    poison_output(one);
    if (one.call(stream()) != cudaSuccess) {
      cudaGetLastError();
      return {};
    }
    check(cudaMemcpyAsync(static_cast<value_bytes*>(repeats_.get()) + i, one.arguments.d_out, output_bytes(one),
                          cudaMemcpyDeviceToDevice, stream()));
  }
  check(cudaMemcpyAsync(outputs.data(), repeats_.get(), outputs.size() * sizeof outputs[0], cudaMemcpyDeviceToHost,
                        stream()));
  bench_.synchronize();
  return outputs;
}

std::unique_ptr<instrument> device_place::clock(mode how, std::vector<const contender*> contenders) {
  return std::make_unique<device_instrument>(bench_, how, std::move(contenders));
}

contender device_place::roof(const catalog::record& record, std::size_t footprint_bytes) const {
  contender one;
  one.record = &record;
  const std::size_t moved = record.operation == catalog::operation::copy ? footprint_bytes / 2 : footprint_bytes;
  one.arguments = {.d_in = input_.get(),
                   .d_out = roof_output_.get(),
                   .num_items = std::max<std::size_t>(1, moved / catalog::size_of(record.input_type)),
                   .init = nullptr};
  return one;
}

void device_place::warm_up() const {
  using clock = std::chrono::steady_clock;
  for (const auto end = clock::now() + std::chrono::milliseconds(500); clock::now() < end;) {
    for (int i = 0; i < 100; ++i) bench_.prepare(mode::cold, nullptr);
    bench_.synchronize();
  }
}

summary_of_items host_place::fill(const workload& from) {
  input_.resize(from.num_items * catalog::size_of(from.type) / sizeof input_[0] + 1);
  generate(from, input_.data());
  return summarise_items(from.type, input_.data(), from.num_items);
}

std::vector<cudaError_t> host_place::bind(std::span<contender> contenders) {
  for (contender& one : contenders) one.arguments.d_in = input_.data();
  const layout plan(contenders, nullptr);
  arena_.resize(plan.total / sizeof arena_[0] + 1);
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    contender& one = contenders[i];
    auto* const base = reinterpret_cast<unsigned char*>(arena_.data());
    one.arguments.d_out = base + plan.outputs[i];
    one.workspace = base + plan.workspaces[i];
    std::memset(one.workspace, first_byte(one), one.workspace_bytes);
  }
  return plan.errors;
}

void host_place::poison_output(const contender& one) {
  std::memset(one.arguments.d_out, output_poison, output_bytes(one));
}

value_bytes host_place::output(const contender& one) {
  value_bytes bytes{};
  std::memcpy(bytes.data(), one.arguments.d_out, output_bytes(one));
  return bytes;
}

std::vector<value_bytes> host_place::repeat(const contender& one, int count) {
  std::vector<value_bytes> outputs;
  for (int i = 0; i < count; ++i) {
    poison_output(one);
    if (call(one) != cudaSuccess) return {};
    outputs.push_back(output(one));
  }
  return outputs;
}

std::unique_ptr<instrument> host_place::clock(mode, std::vector<const contender*> contenders) {
  return std::make_unique<host_instrument>(std::move(contenders));
}

}  // namespace rungs::bench
