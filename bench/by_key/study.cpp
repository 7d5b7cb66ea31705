#include "by_key/study.hpp"

#include <cstring>
#include <optional>
#include <stdexcept>

#include "by_key/calls.hpp"
#include "by_key/oracle.hpp"
#include "called.hpp"
#include "check.hpp"

namespace rungs::bench::by_key {
namespace {

constexpr int unwritten = 0xa5;

catalog::record record_of(catalog::family family, const char* rung, catalog::call_t call) {
  return {.family = family, .ladder = "by_key", .rung = rung, .call = call};
}

std::vector<unsigned char> read(const void* from, std::size_t num_bytes, const event_bench& with) {
  std::vector<unsigned char> bytes(num_bytes);
  if (num_bytes == 0) return bytes;
  check(cudaMemcpyAsync(bytes.data(), from, num_bytes, cudaMemcpyDeviceToHost, with.stream()));
  with.synchronize();
  return bytes;
}

}  // namespace

struct study::entry : called {
  using called::called;
  found_outputs first;  // of the call before the samples
};

study::study(const device_facts& device, const room& largest)
    : bench_(device), in_(largest.in), out_(largest.out), hash_(sizeof(std::uint64_t)) {}

void study::run_once(const entry& one) {
  check(cudaMemsetAsync(out_.get(), unwritten, out_.size(), bench_.stream()));
  check(one.who.call(bench_.stream()));
  bench_.synchronize();
}

study::found_outputs study::look(const cell& about) {
  const item_sizes each = sizes_of(about.about);
  const places at = places_of(about.items, each.first_out, each.second_out);
  const char* const out = static_cast<const char*>(out_.get());
  int count = 0;
  if (!is_scan(about.about.operation))
    std::memcpy(&count, read(out + at.behind, sizeof count, bench_).data(), sizeof count);
  if (count < 0 || static_cast<std::size_t>(count) > about.items)
    throw std::runtime_error("the number of outputs is " + std::to_string(count));
  found_outputs found{static_cast<std::size_t>(count)};
  const std::size_t outputs = num_outputs(about, found.count);
  auto* const d_hash = static_cast<std::uint64_t*>(hash_.get());
  check(cudaMemsetAsync(d_hash, 0, sizeof *d_hash, bench_.stream()));
  check(device_work::hash(out, outputs * each.first_out, d_hash, bench_.stream()));
  std::uint64_t of_first = 0, of_second = 0;
  check(cudaMemcpyAsync(&of_first, d_hash, sizeof of_first, cudaMemcpyDeviceToHost, bench_.stream()));
  check(cudaMemsetAsync(d_hash, 0, sizeof *d_hash, bench_.stream()));
  check(device_work::hash(out + at.second_at, outputs * each.second_out, d_hash, bench_.stream()));
  check(cudaMemcpyAsync(&of_second, d_hash, sizeof of_second, cudaMemcpyDeviceToHost, bench_.stream()));
  bench_.synchronize();
  found.hash = of_first + random_bits(of_second, 1);
  return found;
}

std::string study::defect_by_host(const cell& about, const found_outputs& found) {
  const right_outputs right = right_outputs_of(about);
  if (right.count != found.count)
    return "the number of outputs is " + std::to_string(found.count) + " instead of " + std::to_string(right.count);
  const item_sizes each = sizes_of(about.about);
  const places at = places_of(about.items, each.first_out, each.second_out);
  const char* const out = static_cast<const char*>(out_.get());
  const std::size_t outputs = num_outputs(about, found.count);
  std::string defect =
      difference("first output", right.first, read(out, outputs * each.first_out, bench_), each.first_out);
  if (defect.empty())
    defect = difference("second output", right.second, read(out + at.second_at, outputs * each.second_out, bench_),
                        each.second_out);
  return defect;
}

measured_cell study::measure(const cell& about, double seconds, std::vector<omission>& omissions) {
  measured_cell found;
  found.about = about;
  found.by_host = about.items <= items_of_host;
  const item_sizes sizes = sizes_of(about.about);
  char* const in = static_cast<char*>(in_.get());
  char* const second_in = in + places_of(about.items, sizes.first_in, sizes.second_in).second_at;
  catalog::arguments arguments;
  arguments.d_in = in;
  arguments.d_second = second_in;
  arguments.d_out = out_.get();
  arguments.num_items = about.items;
  arguments.num_rows = num_segments(about);
  check(fill(about.about, about.items, in, second_in, bench_.stream()));
  bench_.synchronize();

  const calls both = calls_of(about.about);
  if (both.rungs == nullptr || both.cub == nullptr) throw std::logic_error(name_of(about) + " has no calls");
  std::optional<entry> cub, rungs;
  // An error of a call is that of its library, and the other goes on.
  const auto begin = [&](std::optional<entry>& one, const catalog::record& record, result& outcome) {
    try {
      one.emplace(record, arguments, bench_.stream());
      outcome.storage_bytes = one->who.workspace_bytes;
      run_once(*one);
      one->first = look(about);
      outcome.ran = outcome.verified = true;
      if (found.by_host) outcome.defect = defect_by_host(about, one->first);
      outcome.verified = outcome.defect.empty();
    } catch (const std::exception& error) {
      one.reset();
      cudaGetLastError();
      // An error that stays would fail whatever comes next.
      if (cudaDeviceSynchronize() != cudaSuccess)
        throw std::runtime_error(name_of(about) + "/" + std::string(record.rung) + ": " + error.what());
      omissions.push_back({about, std::string(record.rung), error.what()});
    }
  };
  begin(cub, record_of(catalog::family::library_baselines, "cub", both.cub), found.cub);
  begin(rungs, record_of(catalog::family::handwritten, "rungs", both.rungs), found.rungs);
  if (!found.by_host && found.rungs.ran && !found.cub.ran) {
    found.rungs.verified = false;
    found.rungs.defect = "CUB's call failed, so there is nothing to compare with";
  }
  if (!found.by_host && rungs && cub && rungs->first != cub->first) {
    found.rungs.verified = false;
    found.rungs.defect = rungs->first.count != cub->first.count
                             ? "the number of outputs is " + std::to_string(rungs->first.count) + ", and CUB's is " +
                                   std::to_string(cub->first.count)
                             : "the outputs are not CUB's";
  }
  if (!rungs && !cub) return found;
  found.outputs = num_outputs(about, (found.rungs.verified ? rungs : cub ? cub : rungs)->first.count);

  const bool times_rungs = rungs && found.rungs.verified, times_cub = cub && found.cub.verified;
  catalog::arguments moved = arguments;
  moved.num_items = found.bytes() / 2;
  const entry copied(record_of(catalog::family::library_baselines, "copy", copy), moved, bench_.stream());
  std::vector<const contender*> sampled;
  std::vector<std::vector<double>*> into;
  const auto add = [&](const contender& who, std::vector<double>& samples) {
    sampled.push_back(&who);
    into.push_back(&samples);
  };
  if (times_rungs) add(rungs->who, found.rungs.samples);
  if (times_cub) add(cub->who, found.cub.samples);
  if (times_cub) add(cub->who, found.twin);
  if (sampled.empty()) return found;
  add(copied.who, found.copy);
  device_instrument clock(bench_, mode::cold, sampled);
  const auto taken = sample(clock, static_cast<int>(sampled.size()), stop_rule{.share = seconds}, clocks_, seconds_now,
                            [] { return false; });
  for (std::size_t i = 0; i < taken.size(); ++i) *into[i] = taken[i].accepted;

  // Once more: what was timed has left its storage in another state.
  const auto end = [&](const entry& one, result& outcome) {
    run_once(one);
    if (look(about) == one.first) return;
    outcome.verified = false;
    outcome.defect = "after the samples the outputs were others than before";
  };
  if (times_rungs) end(*rungs, found.rungs);
  if (times_cub) end(*cub, found.cub);
  return found;
}

}  // namespace rungs::bench::by_key
