#include "gpu/examination.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "gpu/bench_top.hpp"
#include "gpu/histogram_question.hpp"
#include "gpu/large_memory.hpp"
#include "gpu/library_faults.hpp"
#include "gpu/study_examination.hpp"
#include "on_a_gpu.hpp"
#include "plan/covering_array.hpp"
#include "text.hpp"

namespace rungs::tests {
namespace {

using catalog::op;
using catalog::operation;
using catalog::record;
using catalog::scalar;

// Under compute-sanitizer: enough for every kernel to be launched, roofs having shapes of their own for large inputs.
constexpr std::size_t most_sanitized_items = 140000, most_sanitized_roof_items = std::size_t{12} << 20;
// Scans whose grid follows the multiprocessors change their kernel with what each of those has to write: a few large
// cases (shapes_of_scans). The other scans' one large case is as above, and the usual ones are below this.
constexpr std::size_t usual_sanitized_scan_items = 20000;
// Histograms change theirs with the bins more than with the samples, and none of ours beyond so many bins. To racecheck
// each access to shared memory is dear: a million bins in the shared memory of clusters take it 10 s and more a call.
constexpr std::size_t usual_sanitized_histogram_items = 6000;
constexpr int most_sanitized_bins = 1 << 17;
// Of one cluster's sums likewise, but for a few that are as large as its kernels ask for.
constexpr std::size_t usual_sanitized_cluster_items = 20000;
// Several blocks of a cluster; of more, the launches take racecheck long, too.
constexpr std::size_t most_sanitized_cluster_samples = 40000;
// Rows by clusters, likewise. Where clusters of 16 blocks begin after others have ended, synccheck takes warps that
// meet in __syncthreads() for divergent, in kernels without any other barrier, too.
constexpr std::size_t most_sanitized_cluster_rows = 32;
// Under racecheck, of other rows: a block each, they would take it a minute a rung. The k greatest of a row are many
// launches, or many barriers.
constexpr std::size_t most_raced_rows = 10000, most_raced_rows_of_top_k = 40;
constexpr std::size_t host_oracle_items = std::size_t{1} << 17;  // up to here the host oracle may be asked
constexpr std::size_t host_judged_pairs = 4096;                  // likewise, of what no checker on the device holds
constexpr std::size_t host_judged_rows = std::size_t{1} << 20;
constexpr int max_findings = 6;
// Lengths of rows, around what lanes, warps and blocks take at a time.
constexpr std::array percents_asked{0, 1, 50, 100};  // of selections
constexpr std::array<std::size_t, 10> ks_asked{1, 2, 8, 31, 32, 33, 64, 100, 500, 1024};
constexpr std::array<std::size_t, 16> columns_asked{1,   2,   7,    31,   32,   33,   127,  128,
                                                    129, 512, 2047, 2048, 2049, 8191, 8193, 70001};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Fills the stack below the caller, so that host memory a captured call still points at no longer holds what it held.
[[gnu::noinline]] void scribble_on_the_stack() {
  volatile unsigned char frame[16384];
  for (std::size_t i = 0; i < sizeof frame; ++i) frame[i] = 0xa5;
}

class examiner {
 public:
  examiner(const record& subject, const examination& how)
      : subject_(subject),
        how_(how),
        on_device_(subject.executes_on == executor::device),
        where_(on_device_ ? device_site() : host_site()) {}

  verdict run() {
    try {
      const bool filled = !sanitizing() || std::ranges::find(how_.filled, subject_.source) != how_.filled.end();
      top_ = std::make_unique<bench_top>(subject_, where_, sanitizing(), filled);
      if (on_device_) multiprocessors_ = device::attribute(cudaDevAttrMultiProcessorCount);
      small_inputs();
      pairwise();
      every_shape();
      every_edge();
      every_place();
      every_share();
      every_k();
      if (how_.only_fault.empty()) {
        same_workspace_again();
        shared_workspace();
        every_size();
        too_many_items();
        too_many_bins();
        levels_to_be_refused();
        if (on_device_) on_streams();
        if (on_device_ && !sanitizing()) under_disturbance();
        if (!sanitizing()) large_inputs();
      }
    } catch (const refused& reason) {
      if (result_.cases <= 1)
        result_.skipped = reason.what();
      else
        report("refusal", reason.what());
    } catch (const std::exception& error) {
      report("device", error.what());
      result_.device_lost = true;
    }
    if (capped_cases_ > 0)
      result_.notes.push_back(text(capped_cases_, " cases capped at n = ", largest_affordable_, ": its time budget of ",
                                   how_.seconds, " s was spent"));
    for (const auto& [fault, num_cases] : left_out_)
      result_.notes.push_back(text(num_cases, " cases left out, a known fault of the library: ", fault->reason));
    return std::move(result_);
  }

 private:
  bool sanitizing() const { return how_.how_much == extent::sanitizer; }
  bool full() const { return how_.how_much == extent::full; }
  bool scans() const { return catalog::is_scan(subject_.operation); }
  bool has_rows() const { return catalog::has_rows(subject_.operation); }
  bool folds() const { return subject_.operation == operation::reduce || has_pairs() || finds_place(); }
  bool normalises() const { return subject_.operation == operation::row_norm; }
  bool chooses_greatest() const { return subject_.operation == operation::top_k; }
  bool has_pairs() const { return subject_.operation == operation::dot; }
  bool has_second() const { return catalog::has_second(subject_.operation); }
  bool finds_place() const { return subject_.operation == operation::arg_extremum; }
  bool selects() const { return subject_.operation == operation::select_if; }
  // What the place of nothing is, every library says in its own way.
  std::size_t least_items() const {
    return finds_place() && subject_.family == catalog::family::library_baselines ? 1 : 0;
  }
  bool counts() const { return catalog::is_histogram(subject_.operation); }
  bool has_any_edges() const { return subject_.operation == operation::histogram_range; }
  bool can_work_in_place() const { return scans() && subject_.input_type == subject_.output_type; }
  // A case by its name, or a group of them by what stands before the colon.
  bool wanted(const std::string& case_name) const {
    return how_.only_case.empty() || how_.only_case == case_name || case_name.starts_with(how_.only_case + ':');
  }

  void report(const std::string& case_name, const std::string& what) {
    if (static_cast<int>(result_.findings.size()) < max_findings) result_.findings.push_back({case_name, what});
  }

  // Runs one case. What is wrong with the variant becomes a finding; what is wrong with the device ends the
  // examination.
  template <class F>
  void one_case(const std::string& case_name, const std::string& described, F&& body) {
    if (!wanted(case_name) || static_cast<int>(result_.findings.size()) >= max_findings) return;
    how_.on_case(text(case_name, " ", described));
    ++result_.cases;
    try {
      body();
    } catch (const broken& b) {
      report(case_name, text(b.what(), " [", described, "]"));
    } catch (const refused&) {
      throw;
    } catch (const std::exception& error) {
      throw std::runtime_error(text(case_name, " [", described, "]: ", error.what()));
    }
  }

  // A case that can be replayed; of a library's record only where the library is not known to be wrong, or only there.
  template <class F>
  void one_case(const std::string& case_name, const problem& p, F&& body) {
    const library_fault* const fault = known_fault(subject_, p);
    if (how_.only_fault != (fault != nullptr ? fault->name : "")) {
      if (how_.only_fault.empty() && wanted(case_name)) ++left_out_[fault];
      return;
    }
    one_case(case_name, describe(p), std::forward<F>(body));
  }

  // A problem that this record can be asked, and that its time allows.
  problem fitting(problem p) { return fitting(p, usual_sanitized()); }
  problem fitting(problem p, std::size_t most_sanitized_here) {
    p.num_items = std::min(p.num_items, subject_.max_items);
    p.in_place = p.in_place && can_work_in_place();
    const bool float_sum = subject_.op == op::plus && is_floating(subject_.accumulator_type);
    if (float_sum && !scans() && (p.kind == distribution::special || p.kind == distribution::wide))
      p.num_items = std::min(p.num_items, has_pairs() ? host_judged_pairs : host_oracle_items);
    if (!subject_.propagates_nan && subject_.op != op::plus && p.kind == distribution::special &&
        p.seed % num_special == special_nan)
      ++p.seed;  // no NaN
    // Squares of large items are infinite, which is no question about norms; all outputs are judged on the host.
    if (normalises() && p.kind != distribution::exact) p.kind = distribution::uniform;
    if (normalises() || chooses_greatest()) p.num_items = std::min(p.num_items, host_judged_rows);
    if (sanitizing()) p.num_items = std::min(p.num_items, most_sanitized_here);
    if (!on_device_)
      p.num_items = std::min<std::size_t>(p.num_items, full() ? 1u << 24 : scans() ? 1u << 14 : 1u << 17);
    const std::size_t affordable = affordable_items();
    if (p.num_items > affordable) {
      p.num_items = affordable;
      ++capped_cases_;
      largest_affordable_ = affordable;
    }
    p.num_items = std::max(least_items(), p.num_items);
    if (has_rows()) p = with_columns(p);
    p = of_size(subject_, p, p.num_items);
    return counts() ? with_levels(p) : p;
  }

  // Of rows: how long they are and what k is, where the case does not say.
  problem with_columns(problem p) const {
    if (p.num_columns == 0 && p.num_rows == 0)
      p.num_columns = columns_asked[detail::hash(p.seed, 5) % columns_asked.size()];
    p.num_columns = std::min(p.num_columns, std::max<std::size_t>(1, p.num_items));
    if (sanitizing() && subject_.family == catalog::family::cluster)
      p.num_items = std::min(p.num_items, most_sanitized_cluster_rows * p.num_columns);
    const std::size_t most_rows = chooses_greatest() ? most_raced_rows_of_top_k : most_raced_rows;
    if (how_.few_accesses) p.num_items = std::min(p.num_items, most_rows * p.num_columns);
    if (!chooses_greatest()) return p;
    if (p.k == 0) p.k = ks_asked[detail::hash(p.seed, 6) % ks_asked.size()];
    p.k = std::min({p.k, p.num_columns, subject_.max_k});
    return p;
  }

  // Of a histogram: bins and samples, where the case does not say which.
  problem with_levels(problem p) const {
    if (p.num_bins == 0) p.num_bins = 256;
    p.num_bins = std::min(p.num_bins, subject_.max_bins);
    if (sanitizing()) p.num_bins = std::min(p.num_bins, most_sanitized_bins);
    if (static_cast<int>(p.kind) < first_of_histograms) p.kind = distribution::inside;
    return p;
  }
  int num_level_kinds() const { return has_any_edges() ? num_range_levels : num_even_levels; }
  std::vector<int> possible_bins() const {
    std::vector<int> possible;
    for (const int bins : bins_asked)
      if (bins <= subject_.max_bins) possible.push_back(bins);
    return possible;
  }

  // Whether kernels are chosen by what each multiprocessor has to do. Scans with tags are such, too.
  bool by_multiprocessors() const {
    return subject_.blocks_per_multiprocessor > 0 ||
           std::ranges::find(how_.filled, subject_.source) != how_.filled.end();
  }
  std::size_t most_sanitized() const {
    if (scans() && by_multiprocessors()) return static_cast<std::size_t>(multiprocessors_) * 4096 + 5000;
    if (counts() && subject_.family != catalog::family::cluster)
      return subject_.blocks_per_multiprocessor > 0 ? beyond_few_samples() : 2 * usual_sanitized_histogram_items;
    if (counts()) return most_sanitized_cluster_samples;
    if (sums_in_clusters()) return std::max(most_sanitized_items, beyond_one_cluster());
    return catalog::is_computation(subject_.operation) ? most_sanitized_items : most_sanitized_roof_items;
  }
  // So many samples that each multiprocessor has more than 8 KiB: up to there, histograms may take kernels of their
  // own.
  std::size_t beyond_few_samples() const { return beyond_samples(8 * 1024); }
  // So many samples that each multiprocessor has 24 tiles of 16 KiB: from there on, histograms may have more loads on
  // their way. Of bytes fewer, which are loaded in one way.
  std::size_t many_samples() const { return std::min(beyond_samples(24 * 16 * 1024), std::size_t{1} << 24); }
  std::size_t beyond_samples(std::size_t bytes_a_multiprocessor) const {
    return static_cast<std::size_t>(multiprocessors_) * bytes_a_multiprocessor / catalog::size_of(subject_.input_type) +
           5000;
  }
  // So many items that the largest cluster takes more than one tile a block, of 64 KiB at most.
  std::size_t beyond_one_cluster() const {
    return (std::size_t{1} << 20) / catalog::size_of(subject_.input_type) + 5000;
  }
  bool sums_in_clusters() const {
    return subject_.operation == operation::reduce && subject_.family == catalog::family::cluster;
  }
  std::size_t usual_sanitized() const {
    return scans()              ? usual_sanitized_scan_items
           : counts()           ? usual_sanitized_histogram_items
           : sums_in_clusters() ? usual_sanitized_cluster_items
                                : most_sanitized();
  }

  // By the rate of the largest call so far: one call may take a twentieth of the record's time, and less when most of
  // it is gone. Under the sanitizer sizes are few and chosen.
  std::size_t affordable_items() const {
    if (seconds_per_item_ == 0 || sanitizing()) return std::numeric_limits<std::size_t>::max();
    const double left = std::max(0.05 * how_.seconds, how_.seconds - large_seconds_);
    return std::max<std::size_t>(std::size_t{1} << 15, static_cast<std::size_t>(left / 20 / seconds_per_item_));
  }

  void timed_run(bench_top& top, const problem& p, cudaStream_t stream) {
    const auto start = std::chrono::steady_clock::now();
    top.run(p, stream);
    const double seconds = seconds_since(start);
    if (p.num_items < 30000 || runs_++ == 0) return;  // the first call also loads the kernel
    large_seconds_ += seconds;
    const double rate = seconds / static_cast<double>(p.num_items);
    if (p.num_items > largest_timed_ + largest_timed_ / 2)
      seconds_per_item_ = rate;
    else if (p.num_items >= largest_timed_ / 2)
      seconds_per_item_ = std::max(seconds_per_item_, rate);
    largest_timed_ = std::max(largest_timed_, p.num_items);
  }

  void ordinary_case(const std::string& case_name, const problem& p) { ordinary_case(case_name, p, usual_sanitized()); }
  void ordinary_case(const std::string& case_name, problem p, std::size_t most_sanitized_here) {
    p = fitting(p, most_sanitized_here);
    one_case(case_name, p, [&] {
      bench_top& top = *top_;
      top.prepare(p);
      std::uint64_t before = top.input_checksum(p.num_items);
      top.learn(p, before);
      const cudaStream_t stream = p.legacy_stream ? nullptr : top.stream();
      top.reset_output(p, 0xff, top.stream());
      where_.wait(top.stream());
      timed_run(top, p, stream);
      top.judge(p, "first call");
      // Again: the workspace as the first call left it, the output poisoned with another pattern. What a scan has left
      // behind is right for the same data, so it gets other data of the same kind. Under the sanitizer only what keeps
      // something between calls is called again: racecheck takes a time for each launch, whatever its size (a cluster
      // of 8 on an H200: 0.15 s).
      if (!sanitizing() || subject_.temp_storage == contents::zeroed_once) second_call(p, before, stream);
      // CUB's one-block path looks at no workspace, so it refuses none: a library's own business.
      if (subject_.temp_storage != contents::none && subject_.family != catalog::family::library_baselines) {
        const cudaError_t status = top.enqueue(p, stream, top.bytes() - 1);
        where_.wait(top.stream());
        if (on_device_ && p.legacy_stream) check(cudaDeviceSynchronize());
        if (status != cudaErrorInvalidValue)
          throw broken(
              text("a workspace of one byte too few gave ", cudaGetErrorName(status), ", not cudaErrorInvalidValue"));
        cudaGetLastError();
      }
    });
  }

  void second_call(problem p, std::uint64_t before, cudaStream_t stream) {
    bench_top& top = *top_;
    if (scans() || counts() || has_rows() || has_pairs() || finds_place() || selects()) {
      p.seed += num_special;
      top.make_input(p, top.stream());
      before = top.input_checksum(p.num_items);
      top.learn(p, before);
    }
    top.reset_output(p, 0x55, top.stream());
    where_.wait(top.stream());
    timed_run(top, p, stream);
    top.judge(p, "second call, workspace as the first left it");
    if (!sanitizing()) top.judge_surroundings(p, before, "after two calls");
  }

  void small_inputs() {
    const int most = sanitizing() ? 3 : 33;
    for (int n = 0; n <= most; ++n) {
      problem p;
      p.num_items = static_cast<std::size_t>(sanitizing() && n == 3 ? 33 : n);
      p.kind = n % 3 == 2 ? distribution::uniform : distribution::exact;
      p.seed = how_.seed + static_cast<std::uint64_t>(n);
      p.in_offset = n % 4 == 2 ? 3 : n % 2;
      p.out_offset = n % 3 == 1 ? 1 : 0;
      if (has_second()) p.second_offset = n / 2 % 4;
      p.workspace_offset = n % 5;
      p.poison = n % 3;
      p.init = n % 3;
      p.in_place = n % 5 == 2;
      if (selects()) p.percent = percents_asked[static_cast<std::size_t>(n) % 4];
      if (counts()) {
        const auto bins = possible_bins();
        p.kind = static_cast<distribution>(first_of_histograms + n * 5 % num_of_histograms);
        p.num_bins = bins[static_cast<std::size_t>(n * 3) % bins.size()];
        p.levels = static_cast<levels_kind>(n % num_level_kinds());
        p.levels_offset = n % 4;
      }
      ordinary_case(text("small:", n), p);
    }
    if (!full()) return;
    const std::size_t tile = tile_items();
    for (std::size_t n = 34; n <= std::min<std::size_t>(2 * tile + 1, 4200); ++n) {
      problem p;
      p.num_items = n;
      p.seed = how_.seed + n;
      p.in_offset = static_cast<int>(n % 4);
      p.init = static_cast<int>(n % 3);
      if (counts()) p.kind = distribution::edges;
      ordinary_case(text("small:", n), p);
    }
  }

  std::size_t tile_items() const {
    return std::max<std::size_t>(
        1, static_cast<std::size_t>(subject_.block_threads) * static_cast<std::size_t>(subject_.items_per_thread));
  }

  std::size_t blocks_of_a_wave() const {
    if (subject_.blocks_per_multiprocessor > 0) return static_cast<std::size_t>(subject_.blocks_per_multiprocessor);
    return std::max<std::size_t>(1, 2048 / std::max<std::size_t>(1, static_cast<std::size_t>(subject_.block_threads)));
  }

  std::size_t size_of_class(int size_class, std::uint64_t pick) const {
    const std::size_t block = std::max<std::size_t>(2, static_cast<std::size_t>(subject_.block_threads)),
                      tile = tile_items();
    const std::size_t sizes[] = {
        1, 32, block, tile, tile * (2 + pick % 32), block * (2 + pick % 63) + 16,
        std::min<std::size_t>(tile * static_cast<std::size_t>(multiprocessors_) * blocks_of_a_wave(), 1u << 25), 65536,
        999983, std::size_t{1} << 24,
        // A tile of 16 KiB for each multiprocessor.
        static_cast<std::size_t>(multiprocessors_) * 16384 / catalog::size_of(subject_.output_type)};
    return sizes[size_class];
  }

  // Of places: every kind of special items, a NaN and an infinity wherever samples put one, and ties by the thousand.
  void every_place() {
    if (!finds_place()) return;
    constexpr std::array<std::size_t, 5> sizes{33, 1000, 4099, 70001, 1000003};
    constexpr int num_kinds = num_special + 2;
    for (int k = 0; k < (sanitizing() ? num_kinds : 10 * num_kinds); ++k) {
      const int kind = k % num_kinds;
      problem p;
      p.num_items = sizes[static_cast<std::size_t>(k / num_kinds) % sizes.size()];
      p.kind = kind < num_special    ? distribution::special
               : kind == num_special ? distribution::constant
                                     : distribution::exact;
      p.seed = (how_.seed + static_cast<std::uint64_t>(k / num_kinds)) * num_special + static_cast<std::uint64_t>(kind);
      p.in_offset = k / 3 % 4;
      ordinary_case(text("places:", k), p);
    }
  }

  // Of selections: shares of none, few, most and all items, around what a tile takes.
  void every_share() {
    if (!selects()) return;
    const std::size_t tile = std::max<std::size_t>(32, tile_items());
    std::vector<std::size_t> sizes{tile - 1, tile, tile + 1, 5 * tile + 3, 200 * tile + 17};
    if (sanitizing()) sizes = {2 * tile + 1};
    for (const int percent : {0, 1, 10, 50, 90, 99, 100})
      for (const std::size_t n : sizes) {
        problem p;
        p.num_items = n;
        p.percent = percent;
        p.kind = distribution::uniform;
        p.seed = detail::hash(how_.seed, n) >> 8;
        p.in_offset = static_cast<int>(n % 4);
        ordinary_case(text("percent:", percent, ':', n), p);
      }
  }

  // Of top-k: each k, of rows that are shorter and longer than what blocks keep, with every kind of special items, ties
  // by the thousand and equal items.
  void every_k() {
    if (!chooses_greatest()) return;
    constexpr std::array<std::size_t, 6> lengths{33, 1000, 4096, 4099, 20011, 70001};
    constexpr std::array kinds{distribution::special, distribution::constant, distribution::exact,
                               distribution::uniform};
    std::size_t turn = 0;
    for (const std::size_t k : ks_asked)
      for (const std::size_t columns : lengths)
        for (const distribution kind : kinds) {
          const std::size_t each = turn++;
          if (sanitizing() && each % 13 != 0) continue;
          problem p;
          p.num_rows = 3;
          p.num_columns = columns;
          p.num_items = 3 * columns;
          p.k = k;
          p.kind = kind;
          p.seed = how_.seed * num_special + each / 4 + each / 24;  // each special kind at each length
          p.in_offset = static_cast<int>(each % 5 % 4);
          ordinary_case(text("k:", k, ':', columns, ':', name(kind)), p, p.num_items);
        }
  }

  void pairwise() {
    std::vector<int> levels{10, 3, num_distributions, 3, 3, 4, 3, 3, 2};
    if (selects()) levels[7] = static_cast<int>(percents_asked.size());  // no init
    if (scans()) {
      levels[0] = 11;
      levels.push_back(2);  // in place
    }
    if (has_rows()) levels.push_back(static_cast<int>(columns_asked.size()));
    if (has_second())
      levels.push_back(4);  // where the second items begin: as far behind an alignment as the first, too
    const auto bins = possible_bins();
    if (counts()) {
      levels[2] = num_of_histograms;
      levels[7] = has_any_edges() ? 3 : 1;  // where the levels stand
      levels.push_back(static_cast<int>(bins.size()));
      levels.push_back(num_level_kinds());
    }
    const auto rows = covering_array(levels, how_.seed);
    constexpr std::array element_offsets{0, 1, 3};
    constexpr std::array byte_offsets{0, 1, 7, 255};
    struct planned {
      problem about;
      std::string name;
      std::size_t most_sanitized;
    };
    std::vector<planned> problems;
    int special_rows = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto level = [&](int axis) { return static_cast<std::size_t>(rows[r][static_cast<std::size_t>(axis)]); };
      if (sanitizing() && r % (scans() || counts() ? 24 : 12) != 0) continue;
      problem p;
      p.seed = detail::hash(how_.seed, r) >> 8;
      p.num_items = size_of_class(static_cast<int>(level(0)), p.seed);
      if (p.num_items + level(1) > 0) p.num_items = p.num_items + level(1) - 1;
      p.kind = static_cast<distribution>(level(2));
      // NaN, infinities and zeros in turn: each kind of special data surely occurs.
      if (p.kind == distribution::special)
        p.seed = p.seed - p.seed % num_special + static_cast<std::uint64_t>(special_rows++ % num_special);
      p.in_offset = element_offsets[level(3)];
      p.out_offset = element_offsets[level(4)];
      p.workspace_offset = byte_offsets[level(5)];
      p.poison = static_cast<int>(level(6));
      if (selects())
        p.percent = percents_asked[level(7)];
      else
        p.init = static_cast<int>(level(7));
      p.legacy_stream = level(8) == 1;
      p.in_place = scans() && level(9) == 1;
      if (has_rows()) p.num_columns = columns_asked[level(9)];
      if (has_second())
        p.second_offset = level(has_rows() ? 10 : 9) == 3 ? p.in_offset : element_offsets[level(has_rows() ? 10 : 9)];
      if (counts()) {
        p.kind = static_cast<distribution>(first_of_histograms + rows[r][2]);
        p.levels_offset = element_offsets[level(7)];
        p.num_bins = bins[level(9)];
        p.levels = static_cast<levels_kind>(level(10));
      }
      problems.push_back({p, text("pairwise:", r), usual_sanitized()});
    }
    problem largest;
    if (sanitizing()) {
      problem p;
      p.num_items = most_sanitized();
      p.seed = how_.seed;
      largest = p;
      if (counts()) {
        // Each way of keeping the bins and of finding them, with samples that ask for short loads and for long ones;
        // of many bins one of the two.
        for (const int possible : bins) {
          const int asked = std::min(possible, most_sanitized_bins);
          if (asked == 255 || asked == 257) continue;
          p.num_bins = asked;
          p.kind = distribution::edges;
          p.num_items = usual_sanitized();
          for (const levels_kind kind : {levels_kind::unit, levels_kind::ragged}) {
            if (asked >= 65536 && (asked == 65536) != (kind == levels_kind::ragged)) continue;
            p.levels = kind;
            p.in_offset = kind == levels_kind::unit ? 0 : 1;
            problems.push_back({p, text("bins:", asked, ':', name(kind)), usual_sanitized()});
          }
        }
      } else if (!scans()) {
        problems.push_back({p, "largest", most_sanitized()});
        p.in_offset = 1;
        problems.push_back({p, "largest, misaligned", most_sanitized()});
        p.in_offset = 0;
        // Ragged and not; for roofs, the shapes between.
        const bool reduces = catalog::is_computation(subject_.operation);
        const std::vector<std::size_t> sizes =
            reduces ? std::vector<std::size_t>{131073, 65536}
                    : std::vector{most_sanitized() / 2, most_sanitized() / 4, most_sanitized() / 8};
        for (const std::size_t n : sizes) {
          p.num_items = n;
          problems.push_back({p, text("large:", n), most_sanitized()});
        }
      }
    }
    // Small ones first: a slow rung is known to be slow before the large ones come.
    std::stable_sort(problems.begin(), problems.end(),
                     [](const auto& a, const auto& b) { return a.about.num_items < b.about.num_items; });
    for (const auto& [p, case_name, most] : problems) ordinary_case(case_name, p, most);
    if (sanitizing() && scans()) shapes_of_scans(largest);
    if (sanitizing() && folds() && by_multiprocessors()) shapes_of_reductions(largest);
    if (sanitizing() && counts()) shapes_of_histograms(largest);
  }

  // Under the sanitizer: the kernels that a scan takes by the number of items and by where both ends begin.
  void shapes_of_scans(problem p) {
    if (!by_multiprocessors()) ordinary_case("largest", p, most_sanitized());
    p.num_items = 64;
    ordinary_case("whole vectors", p);
    if (!by_multiprocessors()) return;
    // Where each multiprocessor has more than 16 KiB to write, and where it has 12: aligned, as far behind an alignment
    // at both ends, and not.
    const std::size_t some =
        static_cast<std::size_t>(multiprocessors_) * 12 * 1024 / catalog::size_of(subject_.output_type);
    for (const std::size_t n : {most_sanitized(), some})
      for (const auto& [in, out] : {std::pair{0, 0}, std::pair{1, 1}, std::pair{1, 0}}) {
        p.num_items = n;
        p.in_offset = in;
        p.out_offset = out;
        ordinary_case(text("wave:", n, ':', in, ':', out), p, n);
      }
  }

  // Under the sanitizer: the kernels that a reduction takes where small blocks do not hold all, and where large ones
  // have several tiles.
  void shapes_of_reductions(problem p) {
    for (const std::size_t kib : {34, 66, 132}) {
      p.num_items = beyond_samples(kib * 1024);
      ordinary_case(text("blocks:", kib, "KiB"), p, p.num_items);
    }
  }

  // Under the sanitizer: the kernels that a histogram takes by the number of samples.
  void shapes_of_histograms(problem p) {
    for (const auto& [asked, kind] : {std::pair{256, levels_kind::unit}, std::pair{256, levels_kind::ragged},
                                      std::pair{65536, levels_kind::ragged}}) {
      p.num_bins = asked;
      p.levels = kind;
      ordinary_case(text("largest:", asked, ':', name(kind)), p, most_sanitized());
      if (how_.few_accesses || asked != 256 || subject_.blocks_per_multiprocessor == 0) continue;
      problem many = p;
      many.num_items = many_samples();
      ordinary_case(text("many:", name(kind)), many, many_samples());
    }
  }

  // Rows of every length to 33 and around what blocks take at a time, of none to many rows.
  void every_shape() {
    if (!has_rows()) return;
    std::vector<std::size_t> counts{0, 1, 2, 31, 32, 33, 1000};
    std::vector<std::size_t> lengths{40, 127, 128, 129, 200, 512, 2047, 2048, 2049, 8191, 8192, 8193, 16385, 70001};
    for (std::size_t columns = 0; columns <= 33; ++columns) lengths.push_back(columns);
    if (sanitizing()) counts = {7}, lengths = {0, 1, 40, 200, 300, 700, 1500, 2049, 16385};
    for (const std::size_t rows : counts)
      for (const std::size_t columns : lengths)
        if (rows * columns <= std::size_t{1} << 18) of_shape(rows, columns);
    // Under the sanitizer: what segments of one size take by how many there are, and by their parts.
    if (!sanitizing() || how_.few_accesses || subject_.operation != operation::row_reduce) return;
    for (const std::size_t columns : {3, 8, 12, 16, 32, 64}) of_shape(20000, columns);
    of_shape(33000, 33);
    of_shape(3, 50000);
    of_shape(1, 400000);
    of_shape(1, 1100000);
  }
  void of_shape(std::size_t rows, std::size_t columns) {
    problem p;
    p.num_rows = rows;
    p.num_columns = columns;
    p.num_items = rows * columns;
    p.seed = detail::hash(how_.seed, p.num_items) >> 8;
    p.kind = static_cast<distribution>((3 * rows + columns) % num_distributions);
    p.in_offset = static_cast<int>(columns % 4);
    p.out_offset = static_cast<int>(rows % 3);
    p.init = static_cast<int>((rows + columns) % 3);
    ordinary_case(text("rows:", rows, 'x', columns), p, p.num_items);
  }

  // Each edge, what stands before and behind it and all that is special in the type, for all levels and bins.
  void every_edge() {
    if (!counts() || sanitizing()) return;
    // Where not all cases are asked for, a third of them for each record; its neighbours have the others.
    const std::size_t which = std::hash<std::string>{}(full_name(subject_));
    const auto is_turn = [&](int turn) {
      return full() || !how_.only_case.empty() || (which + static_cast<std::size_t>(turn)) % 3 == 0;
    };
    int turn = 0;
    for (const bool many : {false, true}) {
      // Again where there are many samples, which may be counted by other kernels.
      if (many && subject_.blocks_per_multiprocessor == 0) return;
      for (int kind = 0; kind < num_level_kinds(); ++kind)
        for (const int bins : possible_bins()) {
          problem p;
          p.kind = distribution::edges;
          p.num_bins = bins;
          p.levels = static_cast<levels_kind>(kind);
          const std::string case_name = text(many ? "many at edges:" : "edges:", name(p.levels), ':', bins);
          if (many && (!is_turn(turn++) || bins < 256 || bins == 257)) continue;
          if (!wanted(case_name)) continue;
          if (!many && !on_device_ && !is_turn(turn++)) continue;
          const auto table = histogram_question::of(subject_, p).table(table_kind::edges, where_);
          p.in_offset = turn % 4;
          p.seed = how_.seed + static_cast<std::uint64_t>(turn);
          if (many) {
            p.num_items = std::max(beyond_few_samples(), table.num_items) + static_cast<std::size_t>(turn % 7);
          } else {
            p.num_items = (table.num_items + 5) * static_cast<std::size_t>(subject_.num_channels);
            if (!on_device_ && !full()) p.num_items = std::min<std::size_t>(p.num_items, 1u << 14);
            p.out_offset = turn % 3;
            p.levels_offset = turn % 2;
            if (on_device_) ++turn;
          }
          ordinary_case(case_name, p);
        }
    }
  }

  // One workspace, calls of different sizes and data, nothing reset in between.
  void same_workspace_again() {
    const std::size_t tile = tile_items(), large = (how_.few_accesses ? 4 : 40) * tile + 3;
    const std::array<std::size_t, 7> sizes{large, 1, 3 * tile, 0, how_.few_accesses ? 257u : 65521u, tile + 1, large};
    problem largest;
    for (const std::size_t n : sizes) {
      problem p;
      p.num_items = n;
      if (const problem q = fitting(p); q.num_items >= largest.num_items) largest = q;
    }
    largest.poison = 2;
    one_case("same workspace again", largest, [&] {
      bench_top& top = *top_;
      top.prepare(largest);
      for (std::size_t k = 0; k < sizes.size(); ++k) {
        problem p = of_size(subject_, largest, std::max(least_items(), std::min(sizes[k], largest.num_items)));
        p.init = static_cast<int>(k % 3);
        if (counts() && !has_any_edges() && k % 2 == 1) p.num_bins = 1 + p.num_bins / 3;
        if (top.workspace_bytes(p) > top.bytes()) {
          result_.notes.push_back(
              text("workspace for n = ", p.num_items, " is larger than for n = ", largest.num_items));
          continue;
        }
        problem other = largest;  // other data each time: what an earlier call has left is not right any more
        other.seed += k;
        top.make_input(other, top.stream());
        top.learn(p);
        top.reset_output(p, 0xff, top.stream());
        timed_run(top, p, top.stream());
        top.judge(p, text("call ", k, " of several, n = ", p.num_items));
      }
    });
  }

  // What the workspace keeps from call to call serves every operation and type of the variant.
  void shared_workspace() {
    if (subject_.temp_storage != contents::zeroed_once || how_.peers.empty() || sanitizing()) return;
    const problem p = medium(17);
    one_case("workspace shared by operations and types", p, [&] {
      constexpr std::size_t most_peers = 3;
      std::vector<std::unique_ptr<bench_top>> others;
      bench_top* roomiest = top_.get();
      top_->prepare(p);
      // Their order in the catalog is by type, then by operator: far ones differ in both.
      const std::size_t first = std::hash<std::string>{}(full_name(subject_)) % how_.peers.size();
      for (std::size_t k = 0; k < std::min(most_peers, how_.peers.size()); ++k) {
        const record& peer = *how_.peers[(first + k * how_.peers.size() / most_peers) % how_.peers.size()];
        others.push_back(std::make_unique<bench_top>(peer, where_, false));
        others.back()->prepare(of_size(peer, p, p.num_items));
        if (others.back()->bytes() > roomiest->bytes()) roomiest = others.back().get();
      }
      std::vector<bench_top*> tops;
      for (const auto& other : others) tops.insert(tops.end(), {top_.get(), other.get()});
      for (bench_top* const top : tops) top->share_workspace(*roomiest);
      const std::array<std::size_t, 5> sizes{p.num_items, 1, 3 * tile_items() + 1, 65521, tile_items()};
      for (std::size_t call = 0; call < 4 * tops.size(); ++call) {
        bench_top& top = *tops[call % tops.size()];
        problem q = of_size(top.subject(), p, std::min(p.num_items, sizes[call % sizes.size()]));
        q.init = static_cast<int>(call % 3);
        if (top.workspace_bytes(q) > top.bytes()) continue;
        top.learn(q);
        top.reset_output(q, 0xff, top.stream());
        where_.wait(top.stream());
        top.run(q, top_->stream());
        top.judge(q, text("call ", call, " of several in one workspace, n = ", q.num_items));
      }
    });
  }

  // Every number of items up to two tiles. Whoever scans more items writes the same outputs first, so all are compared
  // with one scan that was judged. Integers only, one type of four bytes and one of eight: they prove it for the
  // others.
  void every_size() {
    if (!scans() || sanitizing() || is_floating(subject_.accumulator_type)) return;
    const bool usual = subject_.op == op::plus && subject_.input_type == subject_.output_type &&
                       (subject_.input_type == scalar::i32 || subject_.input_type == scalar::i64);
    if (!usual && !full()) return;
    problem p;
    p.num_items = 2 * std::max<std::size_t>(tile_items(), 128) + 1;
    p.seed = how_.seed + 18;
    p.init = 1;
    p = fitting(p);
    one_case("every size", p, [&] {
      bench_top& top = *top_;
      top.prepare(p);
      top.learn(p);
      top.reset_output(p, 0xff, top.stream());
      top.run(p, top.stream());
      top.judge(p, "the longest");

      prefix_scans scans;
      scans.item_bytes = catalog::size_of(subject_.output_type);
      scans.slot_bytes = (p.num_items * scans.item_bytes + 511) / 256 * 256;
      scans.whole = top.d_out();
      guarded_buffer memory(where_);
      zones ignored;
      auto* const slots = static_cast<unsigned char*>(memory.place(scans.slot_bytes * prefix_scans::most, 0, ignored));
      scans.slots = slots;
      // In an order that covers the range from the beginning: the time may not suffice for all.
      const std::size_t num_sizes = p.num_items + 1;
      std::size_t stride = num_sizes * 5 / 8;
      while (std::gcd(stride, num_sizes) != 1) ++stride;
      std::size_t done = 0;
      const auto start = std::chrono::steady_clock::now();
      while (done < num_sizes && (full() || seconds_since(start) < 0.4 * how_.seconds)) {
        scans.count = static_cast<int>(std::min<std::size_t>(prefix_scans::most, num_sizes - done));
        where_.fill(slots, scans.untouched, static_cast<std::size_t>(scans.count) * scans.slot_bytes, top.stream());
        for (int k = 0; k < scans.count; ++k) {
          problem q = p;
          q.num_items = done++ * stride % num_sizes;
          scans.num_items[k] = static_cast<unsigned>(q.num_items);
          if (top.workspace_bytes(q) > top.bytes())
            throw broken(text("wants a larger workspace for n = ", q.num_items, " than for n = ", p.num_items));
          const cudaError_t status =
              top.enqueue(q, top.stream(), top.bytes(), slots + static_cast<std::size_t>(k) * scans.slot_bytes);
          if (status != cudaSuccess)
            throw broken(text("the call returned ", cudaGetErrorName(status), " for n = ", q.num_items));
        }
        if (const auto damage = where_.compare(scans, top.stream()))
          throw broken(fault_in(scans, *damage, top.stream()));
      }
      if (done < num_sizes)
        result_.notes.push_back(text("every size: ", done, " of ", num_sizes, " sizes in its time"));
    });
  }

  std::string fault_in(const prefix_scans& scans, prefix_damage damage, cudaStream_t stream) {
    const std::size_t n = scans.num_items[damage.slot], at = damage.item * scans.item_bytes;
    if (damage.item >= n) return text("n = ", n, ": wrote an output ", damage.item);
    value got, expected;
    const auto* const slot =
        static_cast<const unsigned char*>(scans.slots) + static_cast<std::size_t>(damage.slot) * scans.slot_bytes;
    where_.read(&got.bits, slot + at, scans.item_bytes, stream);
    where_.read(&expected.bits, static_cast<const unsigned char*>(scans.whole) + at, scans.item_bytes, stream);
    return text("n = ", n, ": output ", damage.item, " is ", to_string(subject_.output_type, got),
                ", in a longer scan ", to_string(subject_.output_type, expected));
  }

  void too_many_items() {
    if (subject_.max_items > (std::size_t{1} << 26)) return;
    problem p;
    p.num_items = subject_.max_items;
    ordinary_case("max_items", p);
    p.num_items = (subject_.max_items / static_cast<std::size_t>(subject_.num_channels) + 1) *
                  static_cast<std::size_t>(subject_.num_channels);
    if (counts()) p = with_levels(p);
    one_case("max_items + 1", p, [&] {
      std::size_t bytes = 0;
      bench_top::in_host_memory host{};
      catalog::arguments call = top_->arguments(p, nullptr, nullptr, host);
      const cudaError_t queried = subject_.call(nullptr, bytes, call, top_->stream());
      if (queried != cudaSuccess) {
        cudaGetLastError();
        return;  // refused, as it should be
      }
      top_->prepare(p);
      const cudaError_t called = top_->enqueue(p, top_->stream());
      where_.wait(top_->stream());
      cudaGetLastError();
      if (called == cudaSuccess) throw broken("took more than max_items items without an error");
    });
  }

  // More bins than the record says it takes: it says so again.
  void too_many_bins() {
    if (!counts() || subject_.max_bins >= bins_asked.back()) return;
    problem p = medium(19);
    p.num_bins = subject_.max_bins;
    ordinary_case("max_bins", p);
    p.num_bins = subject_.max_bins + 1;
    one_case("max_bins + 1", p, [&] {
      bench_top& top = *top_;
      problem most = p;
      most.num_bins = subject_.max_bins;
      top.prepare(p, top.workspace_bytes(most));
      const cudaError_t called = top.enqueue(p, top.stream());
      where_.wait(top.stream());
      cudaGetLastError();
      if (called == cudaSuccess) throw broken("took more than max_bins bins without an error");
    });
  }

  // What is no histogram is refused, and nothing is written. The libraries' own rules are theirs.
  void levels_to_be_refused() {
    if (!counts() || subject_.family == catalog::family::library_baselines) return;
    problem p = medium(20);
    p = of_size(subject_, p, std::min<std::size_t>(p.num_items, 1000));
    one_case("levels to be refused", p, [&] {
      bench_top& top = *top_;
      top.prepare(p);
      top.reset_output(p, 0xff, top.stream());
      const auto expect_refusal = [&](const catalog::arguments& call, const std::string& what) {
        const cudaError_t status = top.enqueue(call, top.stream());
        where_.wait(top.stream());
        cudaGetLastError();
        if (status != cudaErrorInvalidValue)
          throw broken(text(what, " gave ", cudaGetErrorName(status), ", not cudaErrorInvalidValue"));
      };
      bench_top::in_host_memory host{};
      const catalog::arguments right = top.arguments(p, top.d_in(), top.d_out(), host);
      for (const int num_levels : {1, 0, -1}) {
        catalog::arguments wrong = right;
        wrong.num_levels = num_levels;
        expect_refusal(wrong, text(num_levels, " levels"));
      }
      if (!has_any_edges()) {
        with_type(subject_.level_type, [&]<class T>(type_tag<T>) {
          std::vector<std::array<double, 2>> pairs{{7, 7}, {8, 7}, {0, -1}};
          const double infinity = std::numeric_limits<double>::infinity();
          if (is_float<T>)
            pairs.insert(pairs.end(), {{0, infinity - infinity}, {infinity - infinity, 1}, {0, infinity}});
          if (std::is_unsigned_v<T>) pairs.back() = {1, 0};
          for (const auto& [lower, upper] : pairs) {
            const std::array<T, 2> ends{from_double<T>(lower), from_double<T>(upper)};
            catalog::arguments wrong = right;
            wrong.levels = ends.data();
            expect_refusal(wrong, text("levels from ", lower, " to ", upper));
          }
        });
      }
      std::vector<unsigned char> output(top.output_bytes());
      where_.read(output.data(), top.d_out(), output.size(), top.stream());
      if (std::ranges::any_of(output, [](unsigned char byte) { return byte != 0xff; }))
        throw broken("wrote counters although it refused the levels");
    });
  }

  problem medium(std::uint64_t salt) {
    problem p;
    p.num_items = sanitizing() ? 5000 : 199999;
    p.seed = how_.seed + salt;
    p.init = 1;
    return fitting(p);
  }

  void on_streams() {
    const problem p = medium(11);
    one_case("size query launches nothing", p, [&] {
      top_->prepare(p);
      std::string wrong;
      const captured_graph graph(top_->stream(), [&] {
        try {
          top_->workspace_bytes(p);
        } catch (const broken& b) {
          wrong = text("while its stream was being captured: ", b.what());
        }
        return cudaSuccess;
      });
      if (graph.ended() != cudaSuccess)
        throw broken(text("the size query broke a capture: ", cudaGetErrorName(graph.ended())));
      if (!wrong.empty()) throw broken(wrong);
      if (const std::size_t nodes = graph.nodes().size(); nodes != 0)
        throw broken(text("the size query enqueued ", nodes, " operations"));
    });
    if (!sanitizing()) delayed_producer();
    if (!subject_.waits_for_host) graph_replays();
  }

  // Input, output and workspace get their contents late in the call's own stream: work in any other stream comes too
  // early.
  void delayed_producer() {
    const problem p = medium(12);
    one_case("delayed producer", p, [&] {
      bench_top& top = *top_;
      top.prepare(p);
      const std::uint64_t before = top.input_checksum(p.num_items);
      top.learn(p, before);
      for (int repeat = 0; repeat < 2; ++repeat) {
        if (p.num_items > 0)
          where_.fill(top.d_in(), 0x3c, p.num_items * catalog::size_of(subject_.input_type), top.stream());
        where_.wait(top.stream());
        device::delay(1.0, top.stream());
        top.make_input(p, top.stream());
        top.reset_output(p, 0xff, top.stream());
        if (repeat == 0) top.poison_workspace(p);
        top.run(p, top.stream());
        top.judge(p, "behind a delayed producer");
      }
      top.judge_surroundings(p, before, "behind a delayed producer");
    });
  }

  // Captured once, replayed three times with new data, after everything the capturing call had on its stack is gone.
  void graph_replays() {
    problem p = medium(13);
    one_case("graph", p, [&] {
      bench_top& top = *top_;
      top.prepare(p);
      captured_graph graph = captured(p);
      scribble_on_the_stack();
      for (int replay = 0; replay < 3; ++replay) {
        problem q = p;
        q.seed += static_cast<std::uint64_t>(replay) * 1000;
        top.make_input(q, top.stream());
        top.reset_output(q, 0xff, top.stream());
        top.learn(q);
        graph.launch(top.stream());
        where_.wait(top.stream());
        top.judge(q, text("graph replay ", replay));
      }
    });
  }

  captured_graph captured(const problem& p) {
    captured_graph graph(top_->stream(), [&] { return top_->enqueue(p, top_->stream()); });
    if (!graph.has_all())
      throw broken(text("cannot be captured: the call returned ", cudaGetErrorName(graph.called()), ", the capture ",
                        cudaGetErrorName(graph.ended())));
    return graph;
  }

  // A cooperative or cluster launch may wait for room; any other must get on with the room there is.
  bool may_wait_for_room(const problem& p) {
    if (subject_.waits_for_host) return true;
    const captured_graph graph = captured(p);
    bool needs_room = false;
    for (const cudaGraphNode_t node : graph.nodes()) {
      cudaGraphNodeType type{};
      check(cudaGraphNodeGetType(node, &type));
      if (type != cudaGraphNodeTypeKernel) continue;
      cudaLaunchAttributeValue cooperative{}, cluster{};
      if (cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeCooperative, &cooperative) == cudaSuccess &&
          cooperative.cooperative != 0)
        needs_room = true;
      if (cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeClusterDimension, &cluster) == cudaSuccess &&
          cluster.clusterDim.x > 1)
        needs_room = true;
      cudaGetLastError();
    }
    return needs_room;
  }

  void under_disturbance() {
    many_threads();
    if (subject_.deterministic) repeats();
    makes_progress();
  }

  void many_threads() {
    const int num_threads = full() ? 8 : 4, calls = full() ? 50 : 6;
    const problem base = medium(14);
    one_case("threads", base, [&] {
      std::vector<std::future<void>> threads;
      for (int t = 0; t < num_threads; ++t)
        threads.push_back(std::async(std::launch::async, [&, t] {
          bench_top top(subject_, where_, false);
          for (int c = 0; c < calls; ++c) {
            problem p = base;
            p.seed += static_cast<std::uint64_t>(100 * t + c);
            p = of_size(subject_, p, std::min<std::size_t>(base.num_items, detail::hash(p.seed, 1) % 60000));
            p.init = (t + c) % 3;
            top.prepare(p);
            top.learn(p);
            for (int repeat = 0; repeat < 3; ++repeat) {
              top.reset_output(p, 0xff, top.stream());
              top.run(p, top.stream());
              top.judge(p, text("thread ", t, ", call ", c, ", n = ", p.num_items));
            }
          }
        }));
      for (auto& thread : threads) thread.get();  // throws what it has thrown; the others are waited for
    });
  }

  // The same bits, whatever the address, the alignment, the stream and the neighbours.
  void repeats() {
    if (!catalog::is_computation(subject_.operation)) return;
    problem p = medium(15);
    p.kind = counts() ? distribution::skewed : distribution::uniform;
    if (!has_rows()) return repeats("repeats bit for bit", p);
    for (const std::size_t columns : {32, 33, 600, 8192, 70001}) {
      p.num_columns = columns;
      p.k = std::min(p.k, columns);
      repeats(text("repeats bit for bit:", columns), of_size(subject_, p, p.num_items));
    }
  }

  void repeats(const std::string& case_name, const problem& p) {
    one_case(case_name, p, [&] {
      std::string first;
      bench_top other(subject_, where_, false);
      guarded_buffer memory(where_);
      stream_handle neighbour(true);
      zones ignored;
      constexpr std::size_t scratch_bytes = std::size_t{16} << 20;
      void* const scratch = memory.place(scratch_bytes, 0, ignored);
      std::string wrong;
      for (int repeat = 0; repeat < 20 && wrong.empty(); ++repeat) {
        bench_top& top = repeat % 2 == 0 ? *top_ : other;
        problem q = p;
        q.in_offset = repeat % 5;
        q.out_offset = repeat % 3;
        if (has_second()) q.second_offset = repeat / 2 % 4;
        q.workspace_offset = repeat * 13 % 256;
        q.poison = repeat % 3;
        top.prepare(q);
        top.reset_output(q, 0xff, top.stream());
        where_.wait(top.stream());
        if (repeat % 4 == 3) device::make_noise(0.3, scratch, scratch_bytes, neighbour);
        top.run(q, repeat % 7 == 6 ? nullptr : top.stream());
        const std::string got = top.fingerprint(q);
        if (first.empty()) first = got;
        if (got != first) wrong = text("run ", repeat, " gave ", got, ", the first ", first, " [", describe(q), "]");
      }
      if (!wrong.empty()) throw broken(wrong);
    });
  }

  void makes_progress() {
    problem p = medium(16);
    p.num_items = std::size_t{1} << 20;
    p = fitting(p);
    const std::vector<int> free_multiprocessors = full() ? std::vector{1, 2, 3, 8, 14} : std::vector{1, 8};
    for (const int left_free : free_multiprocessors) {
      one_case(text("squatter:", left_free), p, [&] {
        bench_top& top = *top_;
        top.prepare(p);
        top.learn(p);
        const bool may_wait = may_wait_for_room(p);
        top.run(p, top.stream());  // a kernel's first launch may wait for the device to be idle
        top.reset_output(p, 0xff, top.stream());
        where_.wait(top.stream());
        {
          device::squatter squatter(left_free, may_wait ? 10 : 3000);
          squatter.settled();
          if (may_wait) {
            top.run(p, top.stream());
          } else {
            const cudaError_t status = top.enqueue(p, top.stream());
            const auto start = std::chrono::steady_clock::now();
            bool done = false;
            while (!(done = cudaStreamQuery(top.stream()) != cudaErrorNotReady) && seconds_since(start) < 1)
              std::this_thread::yield();
            squatter.release();
            where_.wait(top.stream());
            if (status != cudaSuccess) throw broken(text("the call returned ", cudaGetErrorName(status)));
            if (!done) throw broken(text("made no progress in 1 s while ", left_free, " multiprocessors were free"));
          }
        }
        top.judge(p, text("with ", left_free, " multiprocessors free"));
      });
    }
    one_case("two streams at once", p, [&] {
      bench_top other(subject_, where_, false);
      problem q = p;
      q.seed += 1;
      top_->prepare(p);
      other.prepare(q);
      top_->learn(p);
      other.learn(q);
      for (int repeat = 0; repeat < 10; ++repeat) {
        top_->reset_output(p, 0xff, top_->stream());
        other.reset_output(q, 0xff, other.stream());
        const cudaError_t a = top_->enqueue(p, top_->stream()), b = other.enqueue(q, other.stream());
        where_.wait(top_->stream());
        where_.wait(other.stream());
        if (a != cudaSuccess || b != cudaSuccess)
          throw broken(text("the calls returned ", cudaGetErrorName(a), " and ", cudaGetErrorName(b)));
        top_->judge(p, "two streams at once");
        other.judge(q, "two streams at once");
      }
    });
  }

  // Around 2^31 and 2^32 items, where 32-bit counts and offsets wrap. By default integers only: they prove it for the
  // others.
  void large_inputs() {
    const bool reduces = subject_.operation == operation::reduce || subject_.operation == operation::row_reduce ||
                         has_pairs() || finds_place();
    if (!on_device_ || subject_.max_items < (1ull << 31) || !(reduces || scans() || counts())) return;
    const bool narrow_or_int = subject_.input_type == scalar::u8 || subject_.input_type == scalar::i32 ||
                               (has_pairs() && subject_.input_type == scalar::i8);
    const bool usual = counts() ? subject_.operation == operation::histogram_even && subject_.input_type == scalar::u8
                                : (reduces || subject_.operation == operation::inclusive_scan) && narrow_or_int &&
                                      (subject_.op == op::plus || (finds_place() && subject_.op != op::maximum));
    if (!full() && !usual) return;
    for (const std::size_t n : {(1ull << 31) - 1, (1ull << 31) + 1, (1ull << 32) + 1}) {
      const std::string case_name = text("large:", n);
      if (!wanted(case_name)) continue;
      if (!full() && n == (1ull << 31) - 1) continue;
      const double predicted = seconds_per_item_ * static_cast<double>(n);
      if (predicted > (full() ? 4.0 : 0.5)) {
        result_.notes.push_back(text("n = ", n, " left out: about ", predicted, " s a call"));
        continue;
      }
      problem p;
      if (has_rows()) p.num_columns = 65539;
      p = of_size(subject_, p, n);
      if (counts()) p = with_levels(p);
      p.kind = large_memory::made().kind;
      p.seed = large_memory::made().seed;
      p.init = 1;
      one_case(case_name, p, [&] { large_case(p); });
    }
  }

  void large_case(const problem& p) {
    static large_memory device_memory(device_site());
    large_memory& memory = device_memory;
    bench_top& top = *top_;
    void* const input = memory.input_of(subject_.input_type, top.stream());
    problem small = p;
    small.num_items = static_cast<std::size_t>(subject_.num_channels);
    top.prepare(small);
    zones guards;
    void* d_out = top.d_out();
    if (input != nullptr && scans()) {
      constexpr std::size_t red_zone = guarded_buffer::red_zone;
      const std::size_t out_size = catalog::size_of(subject_.output_type);
      auto* const output = static_cast<unsigned char*>(memory.output(large_memory::num_items * out_size + red_zone));
      d_out = output;
      if (output != nullptr) {
        guards.add(output + p.num_items * out_size, red_zone);
        where_.fill(output, 0xff, p.num_items * out_size, top.stream());
      }
    } else {
      top.reset_output(small, 0xff, top.stream());
    }
    if (input == nullptr || d_out == nullptr) {
      result_.notes.push_back(text("n = ", p.num_items, " left out: not enough memory"));
      --result_.cases;
      return;
    }
    const sample made = large_memory::made();
    const judged_call judged{p, made, input, d_out, top.stream(), &made, input};  // pairs of an item and itself
    top.referee().learn(judged, 0);

    std::size_t bytes = 0;
    bench_top::in_host_memory host{};
    catalog::arguments call = top.arguments(p, input, d_out, host);
    call.d_second = input;
    const cudaError_t queried = subject_.call(nullptr, bytes, call, top.stream());
    if (queried != cudaSuccess || bytes == 0)
      throw broken(text("the size query returned ", cudaGetErrorName(queried), " and ", bytes, " bytes"));
    guarded_buffer workspace(where_);
    void* const d_workspace = workspace.place(bytes, 1, guards);
    where_.paint(guards, canary_key, top.stream());
    where_.fill(d_workspace, subject_.temp_storage == contents::zeroed_once ? 0 : 0xff, bytes, top.stream());
    const cudaError_t status = subject_.call(d_workspace, bytes, call, top.stream());
    where_.wait(top.stream());
    if (status != cudaSuccess) throw broken(text("the call returned ", cudaGetErrorName(status)));
    if (const auto fault = top.referee().fault(judged)) throw broken(text("large input: ", *fault));
    if (where_.inspect(guards, canary_key, top.stream())) throw broken("wrote outside its output or its workspace");
    memory.make_way();
  }

  const record& subject_;
  const examination& how_;
  bool on_device_;
  site& where_;
  std::unique_ptr<bench_top> top_;
  verdict result_;
  int multiprocessors_ = 1, runs_ = 0, capped_cases_ = 0;
  double seconds_per_item_ = 0, large_seconds_ = 0;
  std::map<const library_fault*, int> left_out_;
  std::size_t largest_affordable_ = 0, largest_timed_ = 0;
};

}  // namespace

verdict examine(const record& subject, const examination& how) {
  if (const std::string reason = cannot_run_reason(subject); !reason.empty()) {
    verdict v;
    v.skipped = reason;
    return v;
  }
  if (subject.operation == operation::atomics || catalog::is_chain(subject.operation))
    return examine_study(subject, how);
  return examiner(subject, how).run();
}

verdict examine(const record& subject, const library_fault& fault, const examination& how) {
  verdict v;
  if (fault.is_harmless) {
    examination only_there = how;
    only_there.only_fault = fault.name;
    v = examine(subject, only_there);
    if (v.device_lost || !v.skipped.empty()) return v;
    if (v.cases == 0) v.findings.push_back({"", "there is no case in which this fault could show"});
    if (v.cases == 0 || v.findings.empty()) return v;
  }
  v.known_fault = true;
  v.skipped = text("a known fault of the library: ", fault.reason);
  if (!v.findings.empty()) v.skipped += text("; ", v.findings[0].case_name, ": ", v.findings[0].what);
  v.findings.clear();
  return v;
}

std::string full_name(const record& subject) {
  std::string types(catalog::name(subject.input_type));
  if (subject.accumulator_type != subject.input_type && subject.accumulator_type != scalar::none)
    types += text('_', catalog::name(subject.accumulator_type));
  const bool is_reduction = subject.operation == operation::reduce;
  const auto word = [](std::string_view name) { return text(name, '/'); };
  return text(word(catalog::name(subject.family)), word(subject.ladder), word(subject.rung),
              is_reduction ? "" : word(catalog::name(subject.operation)),
              subject.op == op::none ? "" : word(catalog::name(subject.op)), types);
}

const std::string& no_gpu_reason() {
  static const std::string reason = [] {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    cudaGetLastError();
    if (status != cudaSuccess) return text("no usable GPU: ", cudaGetErrorString(status));
    if (!has_gpu()) return std::string("no usable GPU: none found");
    return std::string();
  }();
  return reason;
}

std::string cannot_run_reason(const record& subject) {
  if (subject.executes_on == executor::host) return "";
  if (!no_gpu_reason().empty()) return no_gpu_reason();
  const int major = device::attribute(cudaDevAttrComputeCapabilityMajor),
            minor = device::attribute(cudaDevAttrComputeCapabilityMinor);
  if (10 * major + minor >= subject.min_cc) return "";
  return text("needs compute capability ", subject.min_cc / 10, '.', subject.min_cc % 10, ", this GPU has ", major, '.',
              minor);
}

}  // namespace rungs::tests
