#include "places.hpp"

#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>

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

bool scans(const contender& one) { return catalog::is_scan(one.record->operation); }
bool counts(const contender& one) { return catalog::is_histogram(one.record->operation); }
bool updates(const contender& one) { return one.record->operation == catalog::operation::atomics; }
bool chains(const contender& one) { return catalog::is_chain(one.record->operation); }

std::size_t num_counters(const contender& one) {
  return static_cast<std::size_t>(one.arguments.num_levels - 1) *
         static_cast<std::size_t>(one.record->num_active_channels);
}

std::size_t output_bytes(const contender& one) {
  const std::size_t elements = scans(one)     ? one.arguments.num_items
                               : counts(one)  ? num_counters(one)
                               : updates(one) ? one.arguments.num_addresses
                               : chains(one) && one.record->operation != catalog::operation::collective_reduce
                                   ? one.arguments.num_blocks * one.arguments.num_threads
                                   : 1;
  return elements * catalog::size_of(one.record->output_type);
}

// A scan's output begins as far behind an allocation as its input does, in items.
std::size_t bytes_before_output(const contender& one, std::size_t offset) {
  return scans(one) ? offset * catalog::size_of(one.record->output_type) : 0;
}

bool keeps_state(const contender& one) { return one.record->temp_storage == contents::zeroed_once; }

bool has_many_values(const contender& one) { return scans(one) || counts(one) || updates(one) || chains(one); }

// The size query of each contender; what the one output must hold; and where in one arena the workspaces begin: those
// that may hold anything are one and the same, and those that are zeroed once follow, each its contender's own.
struct layout {
  std::vector<cudaError_t> errors;
  std::vector<std::size_t> workspaces;
  std::size_t output = 0, total = 0;

  layout(std::span<contender> contenders, std::size_t offset, cudaStream_t stream) {
    for (contender& one : contenders) {
      one.workspace_bytes = 0;
      errors.push_back(one.record->call(nullptr, one.workspace_bytes, one.arguments, stream));
      if (!keeps_state(one)) total = std::max(total, aligned(one.workspace_bytes));
      output = std::max(output, bytes_before_output(one, offset) + output_bytes(one));
    }
    for (const contender& one : contenders) {
      workspaces.push_back(keeps_state(one) ? total : 0);
      if (keeps_state(one)) total += aligned(one.workspace_bytes);
    }
  }
};

// Grows to hold this many bytes; what it held is lost then.
void make_room(device_memory& in, std::size_t num_bytes) {
  if (num_bytes <= in.size()) return;
  in = device_memory();
  in = device_memory(num_bytes + num_bytes / 4);
}

int first_byte(const contender& one) { return keeps_state(one) ? 0 : workspace_poison; }

}  // namespace

void place::fill(const problem& about, const workload& from, int init_offset) {
  from_ = from;
  offset_ = about.shape["offset"];
  init_offset_ = init_offset;
  if (catalog::is_histogram(about.operation)) {
    const catalog::record& record = *about.contenders.front();  // the contenders of a problem are called alike
    const bin_edges edges =
        edges_of(about.input_type, about.shape["bins"], about.operation != catalog::operation::histogram_range);
    const sample_source samples = samples_from(about.input_type, from.num_items, from.seed, about.distribution, edges);
    generate(samples);
    counting_ = question_of(record, samples);
    expected_ = count(counting_, edges_for(counting_, samples));
    // Contenders that are bound already keep their pointer to the same levels.
    if (auto levels = levels_of(edges, record.level_type); levels != levels_) levels_ = std::move(levels);
    brought_levels_ = edges.even ? levels_.data() : bring(levels_);
    return;
  }
  if (about.operation == catalog::operation::atomics) {
    updating_ = {about.op, about.output_type, from.num_items, about.shape["addresses"],
                 static_cast<unsigned>(from.seed)};
    expected_values_ = fold(updating_);
    return;
  }
  if (catalog::is_chain(about.operation)) {
    chain_ = {about.operation,        about.op,
              from.num_items,         std::max<std::size_t>(1, about.shape["blocks"]),
              about.shape["threads"], static_cast<unsigned>(from.seed)};
    expected_words_ = words_of(chain_);
    return;
  }
  generate(from);
  if (!catalog::is_scan(about.operation)) {
    facts_ = summarise(from);
    return;
  }
  question_ = question_of(about.operation, about.op, about.output_type, from);
  befores_ = fold(question_);
  // The contenders of a problem are called alike.
  scan_chunks(question_, before_all(*about.contenders.front(), init_offset), befores_);
  keep(befores_);
}

void place::give_shape(contender& one) const {
  if (counts(one)) {
    one.arguments.num_levels = static_cast<int>(counting_.num_bins) + 1;
    one.arguments.levels = brought_levels_;
  } else if (updates(one)) {
    one.arguments.num_addresses = updating_.num_addresses;
    one.arguments.seed = updating_.seed;
  } else if (chains(one)) {
    one.arguments.num_blocks = chain_.num_blocks;
    one.arguments.num_threads = chain_.num_threads;
    one.arguments.seed = chain_.seed;
  }
}

judgement place::verify(const contender& one) {
  if (counts(one)) {
    if (!has_oracle_of_histograms(*one.record)) return {.why = "no oracle for a histogram of these types"};
    return judge_histogram(counting_, expected_, read_counters(one));
  }
  if (updates(one)) {
    if (!has_oracle_of_atomics(*one.record)) return {.why = "no oracle for atomics of this kind"};
    std::string wrong = find_wrong(updating_, expected_values_, read_output(one).data());
    return {.right = wrong.empty(), .why = std::move(wrong)};
  }
  if (chains(one)) {
    if (!has_oracle_of_chains(*one.record)) return {.why = "no oracle for a chain of this kind"};
    std::string wrong = find_wrong(chain_, expected_words_, read_output(one).data());
    return {.right = wrong.empty(), .why = std::move(wrong)};
  }
  if (!scans(one)) return judge(*one.record, facts_, from_.num_items, init_offset_, from_.whole, read(one, 0));
  if (!has_oracle(*one.record)) return {.why = "no oracle for a scan of these types"};
  const tally found = check_output(one, question_, tolerance_of(*one.record, from_));
  return judge_scan(*one.record, question_, befores_, found,
                    found.num_wrong == 0 ? value_bytes{} : read(one, found.first_wrong));
}

device_place::device_place(const device_facts& facts, std::size_t largest_input_bytes, std::size_t largest_output_bytes)
    : bench_(facts),
      input_(std::max(largest_input_bytes, alignment)),
      output_(std::max(largest_output_bytes, alignment)),
      summaries_(device_work::max_summaries * sizeof(summary_of_items)),
      chunks_(max_chunks * sizeof(running)),
      tallies_(device_work::max_tallies * sizeof(tally)),
      repeats_(most_repeats * sizeof(value_bytes)) {}

void device_place::generate(const workload& from) { check(device_work::generate(from, input(), stream())); }

void device_place::generate(const sample_source& from) { check(device_work::generate(from, input(), stream())); }

counted device_place::count(histogram_question of, const std::vector<double>& edges) {
  if (!edges.empty()) {
    make_room(edges_, edges.size() * sizeof edges[0]);
    check(
        cudaMemcpyAsync(edges_.get(), edges.data(), edges.size() * sizeof edges[0], cudaMemcpyHostToDevice, stream()));
    of.edges = static_cast<const double*>(edges_.get());
  }
  const std::size_t num_copies = device_work::num_copies(of), num_counters = of.num_counters();
  std::vector<std::uint64_t> copies(num_copies * num_counters + 1);
  const std::size_t num_bytes = copies.size() * sizeof copies[0];
  make_room(counts_, num_bytes);
  check(cudaMemsetAsync(counts_.get(), 0, num_bytes, stream()));
  check(device_work::count_samples(of, input(), static_cast<std::uint64_t*>(counts_.get()), stream()));
  check(cudaMemcpyAsync(copies.data(), counts_.get(), num_bytes, cudaMemcpyDeviceToHost, stream()));
  bench_.synchronize();
  counted found{.counters = std::vector<std::uint64_t>(num_counters), .inside = copies.back()};
  for (std::size_t i = 0; i + 1 < copies.size(); ++i) found.counters[i % num_counters] += copies[i];
  return found;
}

const void* device_place::bring(const std::vector<std::uint64_t>& levels) {
  const std::size_t num_bytes = levels.size() * sizeof levels[0];
  make_room(levels_, num_bytes);
  check(cudaMemcpyAsync(levels_.get(), levels.data(), num_bytes, cudaMemcpyHostToDevice, stream()));
  bench_.synchronize();
  return levels_.get();
}

std::vector<std::uint32_t> device_place::read_counters(const contender& one) {
  std::vector<std::uint32_t> counters(num_counters(one));
  check(cudaMemcpyAsync(counters.data(), one.arguments.d_out, output_bytes(one), cudaMemcpyDeviceToHost, stream()));
  bench_.synchronize();
  return counters;
}

updated device_place::fold(const update_question& of) {
  const std::size_t num_words = device_work::num_copies(of) * of.num_addresses;
  std::vector<std::uint64_t> words(num_words, nothing_folded(how_folded(of)));
  std::vector<std::uint32_t> times(num_words);
  const std::size_t word_bytes = num_words * sizeof words[0], all_bytes = word_bytes + num_words * sizeof times[0];
  make_room(counts_, all_bytes);
  auto* const d_words = static_cast<std::uint64_t*>(counts_.get());
  auto* const d_times = reinterpret_cast<std::uint32_t*>(d_words + num_words);
  check(cudaMemsetAsync(d_words, words[0] == 0 ? 0 : 0xff, word_bytes, stream()));
  check(cudaMemsetAsync(d_times, 0, all_bytes - word_bytes, stream()));
  check(device_work::fold_updates(of, d_words, d_times, stream()));
  check(cudaMemcpyAsync(words.data(), d_words, word_bytes, cudaMemcpyDeviceToHost, stream()));
  check(cudaMemcpyAsync(times.data(), d_times, all_bytes - word_bytes, cudaMemcpyDeviceToHost, stream()));
  bench_.synchronize();
  return merge(of, words, times);
}

std::vector<unsigned char> device_place::read_output(const contender& one) {
  std::vector<unsigned char> bytes(output_bytes(one));
  check(cudaMemcpyAsync(bytes.data(), one.arguments.d_out, bytes.size(), cudaMemcpyDeviceToHost, stream()));
  bench_.synchronize();
  return bytes;
}

summary_of_items device_place::summarise(const workload& from) {
  std::vector<summary_of_items> parts(device_work::max_summaries);
  check(device_work::summarise(from.type, input(), from.num_items, static_cast<summary_of_items*>(summaries_.get()),
                               stream()));
  check(cudaMemcpyAsync(parts.data(), summaries_.get(), parts.size() * sizeof parts[0], cudaMemcpyDeviceToHost,
                        stream()));
  bench_.synchronize();
  summary_of_items all;
  for (const auto& part : parts) merge(all, part);
  return all;
}

std::vector<running> device_place::fold(const scan_question& of) {
  std::vector<running> chunks(of.num_chunks());
  check(device_work::fold_chunks(of, static_cast<running*>(chunks_.get()), stream()));
  check(cudaMemcpyAsync(chunks.data(), chunks_.get(), chunks.size() * sizeof chunks[0], cudaMemcpyDeviceToHost,
                        stream()));
  bench_.synchronize();
  return chunks;
}

void device_place::keep(const std::vector<running>& befores) {
  check(cudaMemcpyAsync(chunks_.get(), befores.data(), befores.size() * sizeof befores[0], cudaMemcpyHostToDevice,
                        stream()));
  bench_.synchronize();
}

tally device_place::check_output(const contender& one, const scan_question& of, const tolerance& within) {
  std::vector<tally> parts(device_work::num_tallies(of));
  check(device_work::check_scan(of, within, static_cast<const running*>(chunks_.get()), one.arguments.d_out,
                                static_cast<tally*>(tallies_.get()), stream()));
  check(
      cudaMemcpyAsync(parts.data(), tallies_.get(), parts.size() * sizeof parts[0], cudaMemcpyDeviceToHost, stream()));
  bench_.synchronize();
  tally all;
  for (const auto& part : parts) merge(all, part);
  return all;
}

value_bytes device_place::read(const contender& one, std::size_t element) {
  const std::size_t size = catalog::size_of(one.record->output_type);
  value_bytes bytes{};
  check(cudaMemcpyAsync(bytes.data(), static_cast<const unsigned char*>(one.arguments.d_out) + element * size, size,
                        cudaMemcpyDeviceToHost, stream()));
  bench_.synchronize();
  return bytes;
}

std::vector<cudaError_t> device_place::bind(std::span<contender> contenders) {
  for (contender& one : contenders) {
    give_shape(one);
    one.arguments.d_in = input();
  }
  const layout plan(contenders, offset(), stream());
  cudaGetLastError();
  make_room(output_, plan.output);
  make_room(arena_, plan.total);
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    contender& one = contenders[i];
    one.arguments.d_out = static_cast<unsigned char*>(output_.get()) + bytes_before_output(one, offset());
    one.workspace = static_cast<unsigned char*>(arena_.get()) + plan.workspaces[i];
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

cudaError_t device_place::call_in_view(const contender& one, const std::string& range) {
  bench_.prepare(mode::cold, nullptr);
  bench_.synchronize();
  check(cudaProfilerStart());
  nvtxRangePushA(range.c_str());
  const cudaError_t error = call(one);
  nvtxRangePop();
  check(cudaProfilerStop());
  return error;
}

void device_place::poison_output(const contender& one) {
  check(cudaMemsetAsync(one.arguments.d_out, output_poison, output_bytes(one), stream()));
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
    value_bytes* const into = static_cast<value_bytes*>(repeats_.get()) + i;
    if (has_many_values(one))
      check(
          device_work::hash(one.arguments.d_out, output_bytes(one), reinterpret_cast<std::uint64_t*>(into), stream()));
    else
      check(cudaMemcpyAsync(into, one.arguments.d_out, output_bytes(one), cudaMemcpyDeviceToDevice, stream()));
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
  using catalog::operation;
  contender one;
  one.record = &record;
  const std::size_t read = record.operation == operation::fill ? 0 : catalog::size_of(record.input_type);
  const std::size_t written = record.operation == operation::stream_read ? 0 : catalog::size_of(record.output_type);
  one.arguments = {.d_in = input_.get(),
                   .d_out = output_.get(),
                   .num_items = std::max<std::size_t>(1, footprint_bytes / (read + written)),
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

void host_place::make_input(std::size_t num_items) {
  input_.resize((offset() + num_items) * catalog::size_of(input_type()) / sizeof input_[0] + 1);
}

void host_place::generate(const workload& from) {
  make_input(from.num_items);
  bench::generate(from, input());
}

void host_place::generate(const sample_source& from) {
  make_input(from.num_items);
  bench::generate(from, input());
}

counted host_place::count(histogram_question of, const std::vector<double>& edges) {
  of.edges = edges.data();
  return count_samples(of, input());
}

std::vector<std::uint32_t> host_place::read_counters(const contender& one) {
  const auto* const first = static_cast<const std::uint32_t*>(one.arguments.d_out);
  return {first, first + num_counters(one)};
}

std::vector<unsigned char> host_place::read_output(const contender& one) {
  const auto* const first = static_cast<const unsigned char*>(one.arguments.d_out);
  return {first, first + output_bytes(one)};
}

summary_of_items host_place::summarise(const workload& from) {
  return summarise_items(from.type, input(), from.num_items);
}

tally host_place::check_output(const contender& one, const scan_question& of, const tolerance& within) {
  return check_scan(of, within, befores(), one.arguments.d_out);
}

value_bytes host_place::read(const contender& one, std::size_t element) {
  const std::size_t size = catalog::size_of(one.record->output_type);
  value_bytes bytes{};
  std::memcpy(bytes.data(), static_cast<const unsigned char*>(one.arguments.d_out) + element * size, size);
  return bytes;
}

std::vector<cudaError_t> host_place::bind(std::span<contender> contenders) {
  for (contender& one : contenders) {
    give_shape(one);
    one.arguments.d_in = input();
  }
  const layout plan(contenders, offset(), nullptr);
  output_.resize(plan.output / sizeof output_[0] + 1);
  arena_.resize(plan.total / sizeof arena_[0] + 1);
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    contender& one = contenders[i];
    one.arguments.d_out = reinterpret_cast<unsigned char*>(output_.data()) + bytes_before_output(one, offset());
    one.workspace = reinterpret_cast<unsigned char*>(arena_.data()) + plan.workspaces[i];
    std::memset(one.workspace, first_byte(one), one.workspace_bytes);
  }
  return plan.errors;
}

void host_place::poison_output(const contender& one) {
  std::memset(one.arguments.d_out, output_poison, output_bytes(one));
}

std::vector<value_bytes> host_place::repeat(const contender& one, int count) {
  std::vector<value_bytes> outputs;
  for (int i = 0; i < count; ++i) {
    poison_output(one);
    if (call(one) != cudaSuccess) return {};
    value_bytes bytes{};
    if (has_many_values(one)) {
      const std::uint64_t found = hash(one.arguments.d_out, output_bytes(one));
      std::memcpy(bytes.data(), &found, sizeof found);
    } else {
      bytes = read(one, 0);
    }
    outputs.push_back(bytes);
  }
  return outputs;
}

std::unique_ptr<instrument> host_place::clock(mode, std::vector<const contender*> contenders) {
  return std::make_unique<host_instrument>(std::move(contenders));
}

}  // namespace rungs::bench
