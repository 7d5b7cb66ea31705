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

constexpr int most_repeats = 64;

std::size_t aligned(std::size_t num_bytes) {
  return (num_bytes + input_alignment - 1) / input_alignment * input_alignment;
}

bool scans(const contender& one) { return catalog::is_scan(one.record->operation); }
bool has_rows(const contender& one) { return catalog::has_rows(one.record->operation); }
bool normalises(const contender& one) { return one.record->operation == catalog::operation::row_norm; }
bool finds_place(const contender& one) { return one.record->operation == catalog::operation::arg_extremum; }
bool selects(const contender& one) { return one.record->operation == catalog::operation::select_if; }
bool chooses_greatest(const contender& one) { return one.record->operation == catalog::operation::top_k; }
bool counts(const contender& one) { return catalog::is_histogram(one.record->operation); }
bool updates(const contender& one) { return one.record->operation == catalog::operation::atomics; }
bool chains(const contender& one) { return catalog::is_chain(one.record->operation); }

judgement judged(const std::optional<std::string>& wrong) { return {.right = !wrong, .why = wrong.value_or("")}; }

// A scan's output begins as far behind an allocation as its input does, in items.
std::size_t bytes_before_output(const contender& one, std::size_t offset) {
  return scans(one) ? offset * catalog::size_of(one.record->output_type) : 0;
}

bool keeps_state(const contender& one) { return one.record->temp_storage == contents::zeroed_once; }

bool has_many_values(const contender& one) {
  return one.record->operation != catalog::operation::reduce && one.record->operation != catalog::operation::dot;
}

// The size query of each contender, and where in one arena the workspaces begin: those
// that may hold anything are one and the same, and those that are zeroed once follow, each its contender's own.
struct layout {
  std::vector<cudaError_t> errors;
  std::vector<std::size_t> workspaces;
  std::size_t total = 0;

  layout(std::span<contender> contenders, cudaStream_t stream) {
    for (contender& one : contenders) {
      one.workspace_bytes = 0;
      errors.push_back(one.record->call(nullptr, one.workspace_bytes, one.arguments, stream));
      if (!keeps_state(one)) total = std::max(total, aligned(one.workspace_bytes));
    }
    for (const contender& one : contenders) {
      workspaces.push_back(keeps_state(one) ? total : 0);
      if (keeps_state(one)) total += aligned(one.workspace_bytes);
    }
  }
};

// Grows to hold this many bytes; what it held is lost then.
void grow(device_memory& memory, std::size_t num_bytes) {
  if (num_bytes <= memory.size()) return;
  memory = device_memory();
  memory = device_memory(num_bytes + num_bytes / 4);
}

std::size_t largest(std::span<const problem> problems, std::size_t (problem::*bytes)() const) {
  std::size_t most = 0;
  for (const problem& about : problems)
    if (!about.on_host) most = std::max(most, (about.*bytes)());
  return most;
}

}  // namespace

void place::fill(const problem& about, const workload& from, int init_offset) {
  from_ = from;
  offset_ = about.shape["offset"];
  has_second_ = about.has_second();
  init_offset_ = init_offset;
  if (catalog::is_histogram(about.operation)) {
    const catalog::record& record = *about.contenders.front();  // the contenders of a problem are called alike
    const bin_edges edges =
        edges_of(about.input_type, about.shape["bins"], about.operation != catalog::operation::histogram_range);
    sample_source samples = samples_from(about.input_type, from.num_items, from.seed, about.distribution, edges);
    samples.contention = about.shape["contention"];
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
    expected_bytes_ = tests::values_after(updating_);
    return;
  }
  if (catalog::is_chain(about.operation)) {
    chain_ = {about.operation,
              about.op,
              about.input_type,
              from.num_items,
              std::max<std::size_t>(1, about.shape["blocks"]),
              about.shape["threads"],
              static_cast<unsigned>(from.seed)};
    expected_bytes_ = tests::bytes_after(chain_);
    return;
  }
  if (about.operation == catalog::operation::select_if) {
    from_.whole = false;  // thresholds are of general items
    generate(from_);
    threshold_ = threshold_of(from_.type, about.shape["percent"], init_offset != 0);
    chosen_ = choose(from_, threshold_);
    return;
  }
  generate(from);
  if (about.operation == catalog::operation::reduce) {
    facts_ = summarise(from);
    return;
  }
  if (about.operation == catalog::operation::arg_extremum) {
    facts_ = summarise(from);
    first_.clear();
    if (about.op != catalog::op::maximum) first_.push_back(find_first(from, true));
    if (about.op != catalog::op::minimum) first_.push_back(find_first(from, false));
    return;
  }
  if (has_second_) {
    workload second = from;
    ++second.seed;
    second.unit = true;
    generate_second(second);
    if (about.operation == catalog::operation::row_norm) {
      question_ = question_of_rows(about.op, about.output_type, from, about.shape["columns"]);
      return;
    }
    facts_ = summarise_products(from);
    return;
  }
  if (about.operation == catalog::operation::top_k) {
    question_ = question_of_rows(about.op, about.output_type, from, about.shape["columns"]);
    k_ = about.shape["k"];
    greatest_ =
        tests::greatest_of_rows(from.type, read<std::uint32_t>(input(), from.num_items), question_.chunk_items, k_);
    return;
  }
  const running before = before_all(*about.contenders.front(), init_offset);  // the contenders are called alike
  if (about.operation == catalog::operation::row_reduce) {
    question_ = question_of_rows(about.op, about.output_type, from, about.shape["columns"]);
    befores_ = {before};
  } else {
    question_ = question_of(about.operation, about.op, about.output_type, from);
    befores_ = fold(question_);
    scan_chunks(question_, before, befores_);
  }
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
  } else if (selects(one)) {
    one.arguments.levels = threshold_.data();
  } else if (has_rows(one)) {
    one.arguments.num_rows = question_.num_chunks();
    one.arguments.num_columns = question_.chunk_items;
    one.arguments.k = k_;
  }
}

judgement place::verify(const contender& one) {
  if (counts(one)) {
    if (!has_oracle_of_histograms(*one.record)) return {.why = "no oracle for a histogram of these types"};
    if (one.record->output_type == catalog::scalar::u64)
      return judge_histogram(counting_, expected_, read_output<std::uint64_t>(one));
    return judge_histogram(counting_, expected_, read_output<std::uint32_t>(one));
  }
  if (updates(one)) {
    if (!tests::has_reference(updating_)) return {.why = "no oracle for atomics of this kind"};
    return judged(tests::disagreement(updating_, expected_bytes_, read_output<unsigned char>(one).data()));
  }
  if (chains(one)) {
    if (!tests::has_reference(chain_)) return {.why = "no oracle for a chain of this kind"};
    return judged(tests::disagreement(chain_, expected_bytes_, read_output<unsigned char>(one).data()));
  }
  if (finds_place(one)) {
    const auto found = read_output<std::uint64_t>(one);
    std::string wrong;
    for (std::size_t i = 0; i < first_.size() && wrong.empty(); ++i) {
      value_bytes item{};
      copy_out(item.data(), static_cast<const unsigned char*>(input()) + first_[i] * catalog::size_of(from_.type),
               catalog::size_of(from_.type));
      wrong = find_wrong_place(one.record->input_type, first_[i], item, &found[2 * i]);
    }
    return {.right = wrong.empty(), .why = std::move(wrong)};
  }
  if (selects(one)) {
    const std::size_t size = catalog::size_of(from_.type);
    const long long* const d_count = catalog::count_behind(one.arguments.d_out, from_.num_items, size);
    chosen_items got{.count = read<std::uint64_t>(d_count, 1)[0]};
    if (got.count == chosen_.count) got.hash = hash_of(one.arguments.d_out, got.count * size);
    return judge_selection(chosen_, got);
  }
  if (chooses_greatest(one)) return judged(tests::disagreement(greatest_, read_output<std::uint32_t>(one), k_));
  if (normalises(one)) {
    if (one.record->input_type != catalog::scalar::f32) return {.why = "no oracle for norms of this type"};
    const auto found = tests::judge_norms(*one.record, read<float>(input(), from_.num_items),
                                          read<float>(second_input(), question_.chunk_items), read_output<float>(one));
    return {.right = !found.wrong, .error_ulps = found.error_ulps, .why = found.wrong.value_or("")};
  }
  if (!has_many_values(one))
    return judge(*one.record, facts_, from_.num_items, one.record->takes_init ? init_offset_ : 0, from_.whole,
                 read_element(one, 0));
  if (!has_oracle(*one.record)) return {.why = "no oracle for scans or rows of these types"};
  workload summed = from_;
  if (has_rows(one)) summed.num_items = question_.chunk_items;
  const tally found = check_output(one, question_, tolerance_of(*one.record, summed));
  return judge_scan(*one.record, question_, befores_, found,
                    found.num_wrong == 0 ? value_bytes{} : read_element(one, found.first_wrong));
}

std::size_t place::output_bytes(const contender& one) {
  const catalog::arguments& a = one.arguments;
  const bool reduces = one.record->operation == catalog::operation::collective_reduce;
  const std::size_t elements = scans(one) || normalises(one) ? a.num_items
                               : counts(one)
                                   ? static_cast<std::size_t>(a.num_levels - 1) * one.record->num_active_channels
                               : finds_place(one)        ? catalog::words_of_places(one.record->op)
                               : chooses_greatest(one)   ? 2 * a.num_rows * a.k
                               : has_rows(one)           ? a.num_rows
                               : updates(one)            ? a.num_addresses
                               : chains(one) && !reduces ? a.num_blocks * a.num_threads
                                                         : 1;
  const std::size_t room = selects(one) ? a.num_items * catalog::size_of(one.record->output_type) : 0;
  return selects(one) ? room + catalog::count_room_bytes : elements * catalog::size_of(one.record->output_type);
}

void* place::second_input() {
  return static_cast<unsigned char*>(input()) + aligned((offset_ + from_.num_items) * catalog::size_of(from_.type));
}

value_bytes place::read_element(const contender& one, std::size_t element) {
  const std::size_t size = catalog::size_of(one.record->output_type);
  value_bytes bytes{};
  copy_out(bytes.data(), static_cast<const unsigned char*>(one.arguments.d_out) + element * size, size);
  return bytes;
}

std::vector<cudaError_t> place::bind(std::span<contender> contenders) {
  std::size_t largest_output = 0;
  for (contender& one : contenders) {
    give_shape(one);
    one.arguments.d_in = input();
    if (has_second_) one.arguments.d_second = second_input();
    largest_output = std::max(largest_output, bytes_before_output(one, offset_) + output_bytes(one));
  }
  const layout plan(contenders, call_stream());
  const buffers memory = make_room(largest_output, plan.total);
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    contender& one = contenders[i];
    one.arguments.d_out = static_cast<unsigned char*>(memory.output) + bytes_before_output(one, offset_);
    one.workspace = static_cast<unsigned char*>(memory.workspaces) + plan.workspaces[i];
    set(one.workspace, keeps_state(one) ? 0 : workspace_poison, one.workspace_bytes);
  }
  return plan.errors;
}

device_place::device_place(const device_facts& facts, std::size_t largest_input_bytes, std::size_t largest_output_bytes)
    : bench_(facts),
      input_(std::max(largest_input_bytes, input_alignment)),
      output_(std::max(largest_output_bytes, input_alignment)),
      summaries_(device_work::max_summaries * sizeof(summary_of_items)),
      chunks_(max_chunks * sizeof(running)),
      tallies_(device_work::max_tallies * sizeof(tally)),
      repeats_(most_repeats * sizeof(value_bytes)) {}

device_place::device_place(const device_facts& facts, std::span<const problem> problems)
    : device_place(facts, largest(problems, &problem::input_buffer_bytes),
                   largest(problems, &problem::output_buffer_bytes)) {}

void device_place::generate(const workload& from) { check(device_work::generate(from, input(), stream())); }

void device_place::generate_second(const workload& from) {
  check(device_work::generate(from, second_input(), stream()));
}

void device_place::generate(const sample_source& from) { check(device_work::generate(from, input(), stream())); }

counted device_place::count(histogram_question of, const std::vector<double>& edges) {
  if (!edges.empty()) {
    grow(edges_, edges.size() * sizeof edges[0]);
    copy_in(edges_.get(), edges.data(), edges.size() * sizeof edges[0]);
    of.edges = static_cast<const double*>(edges_.get());
  }
  const std::size_t num_copies = device_work::num_copies(of), num_counters = of.num_counters();
  const std::size_t num_words = num_copies * num_counters + 1;
  grow(counts_, num_words * sizeof(std::uint64_t));
  set(counts_.get(), 0, num_words * sizeof(std::uint64_t));
  check(device_work::count_samples(of, input(), static_cast<std::uint64_t*>(counts_.get()), stream()));
  const auto copies = read<std::uint64_t>(counts_.get(), num_words);
  counted found{.counters = std::vector<std::uint64_t>(num_counters), .inside = copies.back()};
  for (std::size_t i = 0; i + 1 < copies.size(); ++i) found.counters[i % num_counters] += copies[i];
  return found;
}

const void* device_place::bring(const std::vector<std::uint64_t>& levels) {
  const std::size_t num_bytes = levels.size() * sizeof levels[0];
  grow(levels_, num_bytes);
  copy_in(levels_.get(), levels.data(), num_bytes);
  return levels_.get();
}

summary_of_items device_place::summarise(const workload& from) {
  auto* const parts = static_cast<summary_of_items*>(summaries_.get());
  check(device_work::summarise(from.type, input(), from.num_items, parts, stream()));
  return merged(parts);
}

summary_of_items device_place::summarise_products(const workload& from) {
  auto* const parts = static_cast<summary_of_items*>(summaries_.get());
  check(device_work::summarise_products(from.type, input(), second_input(), from.num_items, parts, stream()));
  return merged(parts);
}

std::uint64_t device_place::find_first(const workload& from, bool least) {
  auto* const first = static_cast<std::uint64_t*>(summaries_.get());
  set(first, 0xff, sizeof *first);
  check(device_work::first_extreme(from.type, input(), from.num_items, facts(), least, first, stream()));
  return read<std::uint64_t>(first, 1)[0];
}

std::uint64_t device_place::hash_of(const void* from, std::size_t num_bytes) {
  set(repeats_.get(), 0, sizeof(std::uint64_t));
  check(device_work::hash(from, num_bytes, static_cast<std::uint64_t*>(repeats_.get()), stream()));
  return read<std::uint64_t>(repeats_.get(), 1)[0];
}

summary_of_items device_place::merged(const summary_of_items* parts) {
  summary_of_items all;
  for (const auto& part : read<summary_of_items>(parts, device_work::max_summaries)) merge(all, part);
  return all;
}

std::vector<running> device_place::fold(const scan_question& of) {
  check(device_work::fold_chunks(of, static_cast<running*>(chunks_.get()), stream()));
  return read<running>(chunks_.get(), of.num_chunks());
}

void device_place::keep(const std::vector<running>& befores) {
  copy_in(chunks_.get(), befores.data(), befores.size() * sizeof befores[0]);
}

tally device_place::check_output(const contender& one, const scan_question& of, const tolerance& within) {
  auto* const parts = static_cast<tally*>(tallies_.get());
  check(device_work::check_scan(of, within, static_cast<const running*>(chunks_.get()), one.arguments.d_out, parts,
                                stream()));
  tally all;
  for (const auto& part : read<tally>(parts, device_work::num_tallies(of))) merge(all, part);
  return all;
}

place::buffers device_place::make_room(std::size_t output_bytes, std::size_t workspace_bytes) {
  cudaGetLastError();  // a size query may have failed
  grow(output_, output_bytes);
  grow(arena_, workspace_bytes);
  return {output_.get(), arena_.get()};
}

void device_place::set(void* memory, int byte, std::size_t num_bytes) {
  if (num_bytes != 0) check(cudaMemsetAsync(memory, byte, num_bytes, stream()));
}

void device_place::copy_out(void* to, const void* from, std::size_t num_bytes) {
  check(cudaMemcpyAsync(to, from, num_bytes, cudaMemcpyDeviceToHost, stream()));
  bench_.synchronize();
}

void device_place::copy_in(void* to, const void* from, std::size_t num_bytes) {
  check(cudaMemcpyAsync(to, from, num_bytes, cudaMemcpyHostToDevice, stream()));
  bench_.synchronize();
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

std::vector<value_bytes> device_place::repeat(const contender& one, int count) {
  count = std::min(count, most_repeats);
  auto* const outputs = static_cast<value_bytes*>(repeats_.get());
  set(outputs, 0, repeats_.size());
  for (int i = 0; i < count; ++i) {
    poison_output(one);
    if (one.call(stream()) != cudaSuccess) {
      cudaGetLastError();
      return {};
    }
    if (has_many_values(one))
      check(device_work::hash(one.arguments.d_out, output_bytes(one), reinterpret_cast<std::uint64_t*>(outputs + i),
                              stream()));
    else
      check(cudaMemcpyAsync(outputs + i, one.arguments.d_out, output_bytes(one), cudaMemcpyDeviceToDevice, stream()));
  }
  return read<value_bytes>(outputs, static_cast<std::size_t>(count));
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

void device_place::warm_up(double seconds) const {
  using clock = std::chrono::steady_clock;
  for (const auto end = clock::now() + std::chrono::duration<double>(seconds); clock::now() < end;) {
    for (int i = 0; i < 100; ++i) bench_.prepare(mode::cold, nullptr);
    bench_.synchronize();
  }
}

void host_place::make_input(std::size_t num_items) {
  const std::size_t num_bytes = (offset() + num_items) * catalog::size_of(input_type());
  input_.resize((has_second() ? aligned(num_bytes) + num_bytes : num_bytes) / sizeof input_[0] + 1);
}

void host_place::generate(const workload& from) {
  make_input(from.num_items);
  bench::generate(from, input());
}

void host_place::generate_second(const workload& from) { bench::generate(from, second_input()); }

void host_place::generate(const sample_source& from) {
  make_input(from.num_items);
  bench::generate(from, input());
}

counted host_place::count(histogram_question of, const std::vector<double>& edges) {
  of.edges = edges.data();
  return count_samples(of, input());
}

summary_of_items host_place::summarise(const workload& from) {
  return summarise_items(from.type, input(), from.num_items);
}

summary_of_items host_place::summarise_products(const workload& from) {
  return bench::summarise_products(from.type, input(), second_input(), from.num_items);
}

std::uint64_t host_place::find_first(const workload& from, bool least) {
  return first_extreme(from.type, input(), from.num_items, facts(), least);
}

tally host_place::check_output(const contender& one, const scan_question& of, const tolerance& within) {
  return check_scan(of, within, befores(), one.arguments.d_out);
}

place::buffers host_place::make_room(std::size_t output_bytes, std::size_t workspace_bytes) {
  output_.resize(output_bytes / sizeof output_[0] + 1);
  arena_.resize(workspace_bytes / sizeof arena_[0] + 1);
  return {output_.data(), arena_.data()};
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
      bytes = read_element(one, 0);
    }
    outputs.push_back(bytes);
  }
  return outputs;
}

std::unique_ptr<instrument> host_place::clock(mode, std::vector<const contender*> contenders) {
  return std::make_unique<host_instrument>(std::move(contenders));
}

}  // namespace rungs::bench
