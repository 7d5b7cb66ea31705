#include "gpu/chain_examination.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "gpu/study_examiner.hpp"
#include "oracles/chain_reference.hpp"
#include "text.hpp"

namespace rungs::tests {
namespace {

using catalog::record;

constexpr std::size_t links_asked[] = {0, 1, 2, 3, 33, 1000};
constexpr std::size_t most_sanitized_links = 33, most_sanitized_participants = 2048;

class chain_examiner : study_examiner {
 public:
  chain_examiner(const record& subject, const examination& how) : study_examiner(subject, how) {}

  verdict run() {
    try {
      const auto groups = groups_asked();
      for (const auto& [blocks, threads] : groups)
        for (const std::size_t n : links_asked) links(n, blocks, threads);
      if (how_.how_much == extent::full)
        for (const auto& [blocks, threads] : groups)
          if (blocks <= 16) links(10000, blocks, threads);
      if (groups.empty()) report("groups", "it takes none of those that are asked for");
      limits();
      if (on_device_ && !groups.empty()) captured(groups.back());
    } catch (const std::exception& error) {
      report("device", error.what());
      result_.device_lost = true;
    }
    return std::move(result_);
  }

 private:
  using group = std::pair<std::size_t, std::size_t>;  // blocks, threads

  bool collects() const { return subject_.operation != catalog::operation::barrier; }

  // All that the study measures, and some that it does not.
  std::vector<group> groups_asked() const {
    std::size_t multiprocessors = 1;
    if (on_device_) multiprocessors = static_cast<std::size_t>(num_multiprocessors());
    std::vector<group> asked = {{1, 16}, {1, 32}, {1, 256}};
    if (!collects())
      asked.insert(asked.end(), {{1, 64},
                                 {1, 1024},
                                 {2, 32},
                                 {2, 256},
                                 {4, 256},
                                 {8, 256},
                                 {16, 256},
                                 {3, 96},
                                 {multiprocessors, 256},
                                 {8 * multiprocessors, 256}});
    std::vector<group> taken;
    for (const group& one : asked) {
      if (!subject_.takes_group(one.first, one.second)) continue;
      if (sanitizing() && one.first * one.second > most_sanitized_participants) continue;
      if (std::find(taken.begin(), taken.end(), one) == taken.end()) taken.push_back(one);
    }
    return taken;
  }
  static int num_multiprocessors() {
    int current = 0, count = 0;
    device::check(cudaGetDevice(&current), "cudaGetDevice");
    device::check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, current), "cudaDeviceGetAttribute");
    return count;
  }

  chain_call call_of(std::size_t n, std::size_t blocks, std::size_t threads, std::uint64_t seed) const {
    return {subject_.operation, subject_.op, subject_.input_type, n, blocks, threads, static_cast<unsigned>(seed)};
  }
  static std::string name_of(std::size_t n, std::size_t blocks, std::size_t threads) {
    return text("n=", n, " blocks=", blocks, " threads=", threads);
  }

  void links(std::size_t n, std::size_t blocks, std::size_t threads) {
    if (n > subject_.max_items || (sanitizing() && n > most_sanitized_links)) return;
    one_case(name_of(n, blocks, threads), [&] {
      const std::size_t salt = n + blocks + threads;
      chain_call call = call_of(n, blocks, threads, how_.seed + salt);
      prepare(call, salt % 4, salt % 5);
      reset(0xff);
      if (!ran(call)) {
        result_.notes.push_back(text(name_of(n, blocks, threads), " left out: this GPU has no room for it"));
        return;
      }
      judge(call, words_after(call), "first call");
      call.seed = ~call.seed;
      reset(0x55);
      if (!ran(call)) throw broken("the second call was refused");
      judge(call, words_after(call), "second call, another seed");
    });
  }

  void limits() {
    const auto [blocks, threads] = some_group();
    const auto refused = [&](const chain_call& asked, std::size_t bytes, const char* what) {
      const cudaError_t status = enqueue(arguments(asked), bytes);
      where_.wait(stream_);
      cudaGetLastError();
      if (status != cudaErrorInvalidValue)
        throw broken(text(what, " gave ", cudaGetErrorName(status), ", not cudaErrorInvalidValue"));
      inspect("refusing");
    };
    const chain_call right = call_of(2, blocks, threads, 1);
    one_case("a workspace one byte too small", [&] {
      prepare(right, 0, 0);
      refused(right, bytes_ - 1, "it");
    });
    one_case("nobody", [&] {
      prepare(right, 0, 0);
      refused(call_of(2, blocks, 0, 1), bytes_, "no thread");
      if (!collects()) refused(call_of(2, 0, threads, 1), bytes_, "no block");
    });
    one_case("too many", [&] {
      prepare(right, 0, 0);
      refused(call_of(2, blocks, 1025, 1), bytes_, "1025 threads");
      if (!collects()) refused(call_of(2, std::size_t{1} << 32, threads, 1), bytes_, "2^32 blocks");
      refused(call_of(subject_.max_items + 1, blocks, threads, 1), bytes_, "max_items + 1");
    });
  }
  group some_group() const {
    for (const group& one : {group{1, 16}, group{1, 32}, group{1, 256}, group{2, 256}})
      if (subject_.takes_group(one.first, one.second)) return one;
    throw std::runtime_error("the record takes none of the usual groups");
  }

  // Captured once, replayed over new leftovers.
  void captured(const group& taken) {
    one_case("captured", [&] {
      const chain_call call = call_of(std::min<std::size_t>(100, subject_.max_items), taken.first, taken.second, 9);
      prepare(call, 1, 1);
      const auto expected = words_after(call);
      reset(0xff);
      if (!ran(call)) {  // loads the kernels
        result_.notes.push_back("captured: left out, this GPU has no room for it");
        return;
      }
      replay(arguments(call), [&](const std::string& when) { judge(call, expected, when); });
    });
  }

  catalog::arguments arguments(const chain_call& call) const {
    catalog::arguments all;
    all.d_out = d_output_;
    all.num_items = call.num_links;
    all.num_blocks = call.num_blocks;
    all.num_threads = call.num_threads;
    all.seed = call.seed;
    return all;
  }

  void prepare(const chain_call& call, std::size_t offset, std::size_t workspace_offset) {
    place_output(call.num_words() * sizeof(std::uint32_t), sizeof(std::uint32_t), offset);
    place_workspace(arguments(call), workspace_offset);
  }
  // False where the hardware is too small for so many: a cooperative launch of too many blocks, or no such cluster.
  bool ran(const chain_call& call) {
    const cudaError_t status = enqueue(arguments(call), bytes_);
    if (status == cudaErrorCooperativeLaunchTooLarge || status == cudaErrorNotSupported) {
      cudaGetLastError();
      return false;
    }
    if (status != cudaSuccess) {
      cudaGetLastError();
      throw broken(text("the call returned ", cudaGetErrorName(status)));
    }
    where_.wait(stream_);
    return true;
  }
  void judge(const chain_call& call, const std::vector<std::uint32_t>& expected, const std::string& when) {
    std::vector<std::uint32_t> got(expected.size());
    where_.read(got.data(), d_output_, output_bytes_, stream_);
    if (const auto wrong = disagreement(call, expected, got.data())) throw broken(text(when, ": ", *wrong));
    inspect(when);
  }
};

}  // namespace

verdict examine_chains(const record& subject, const examination& how) {
  if (const std::string reason = cannot_run_reason(subject); !reason.empty()) {
    verdict v;
    v.skipped = reason;
    return v;
  }
  return chain_examiner(subject, how).run();
}

}  // namespace rungs::tests
