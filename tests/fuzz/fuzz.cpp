// Draws calls of the front door at random and checks each against the host. See --help.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "fuzz/lane.hpp"
#include "on_a_gpu.hpp"
#include "watchdog.hpp"

namespace rungs::fuzz {
namespace {

constexpr u64 cases_of_block = 8;
constexpr std::size_t mebi = std::size_t{1} << 20;
constexpr u64 huge_from = 1 << 25;

struct run_options {
  u64 seed = 1, first = 0, num_cases = 0, num_threads = 8, most_failures = 10;
  double seconds = 0, hang_seconds = 20;
  bool shrinks = true;
  std::string kinds;        // as it was given
  std::vector<bool> takes;  // by kind
};

class program {
 public:
  explicit program(const run_options& options)
      : options_(options), kinds_(all_traits()), watchdog_(options.hang_seconds) {}

  int run() {
    began_ = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (u64 i = 0; i < options_.num_threads; ++i)
      threads.emplace_back([this] {
        try {
          work();
        } catch (const std::exception& error) {
          const std::lock_guard lock(mutex_);
          std::fprintf(stderr, "rungs_fuzz: %s\n", error.what());
          is_broken_ = is_over_ = true;
        }
        ++num_threads_done_;
      });
    double next_report = 5;
    while (num_threads_done_ < options_.num_threads) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (options_.seconds > 0 && seconds() > options_.seconds) is_over_ = true;
      if (seconds() < next_report) continue;
      next_report += 5;
      std::printf("%.0f s: %llu passed, %llu failed, %llu skipped, %.0f cases a second\n", seconds(),
                  count(num_passed_), count(num_failed_), count(num_skipped_),
                  static_cast<double>(num_passed_ + num_failed_) / seconds());
      std::fflush(stdout);
    }
    for (std::thread& each : threads) each.join();
    return summary();
  }

  int run_one(const fuzz_case& one, u64 times) {
    lane& own = *new_lane(one);
    for (u64 i = 0; i < times && num_failed_ == 0; ++i) {
      own.renew_workspace();
      own.enqueue(one);
      take(own.finish(), 0, true);
    }
    return summary();
  }

 private:
  static unsigned long long count(u64 number) { return number; }
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count(); }
  int summary() {
    std::printf("%llu passed, %llu failed, %llu skipped\n", count(num_passed_), count(num_failed_),
                count(num_skipped_));
    return num_failed_ > 0 || is_broken_ ? 1 : 0;
  }

  fuzz_case case_at(u64 index) const {
    const u64 seed = mixed(options_.seed, index);
    for (u64 attempt = 0;; ++attempt) {
      const fuzz_case drawn = draw(attempt == 0 ? seed : mixed(seed, attempt), kinds_);
      if (options_.takes[drawn.kind]) return drawn;
    }
  }

  std::shared_ptr<lane> new_lane(const fuzz_case& largest) {
    const bool is_huge = largest.n >= huge_from;
    auto made = std::make_shared<lane>(kinds(), (is_huge ? 640 : 224) * mebi, (is_huge ? 300 : 64) * mebi);
    watchdog_.watch_over(made->pulse());
    const std::lock_guard lock(mutex_);
    lanes_.push_back(made);  // for the watchdog
    return made;
  }

  void work() {
    const auto own = new_lane({});
    while (!is_over_) {
      const u64 block = next_block_++;
      if (block * cases_of_block >= options_.num_cases) return;
      const u64 first = options_.first + block * cases_of_block;
      const u64 end = std::min(first + cases_of_block, options_.first + options_.num_cases);
      for (u64 i = first; i < end; ++i) {
        const fuzz_case one = case_at(i);
        if (one.n >= huge_from) {
          const std::lock_guard lock(huge_mutex_);
          if (!huge_) huge_ = new_lane(one);
          huge_->enqueue(one);
          take(huge_->finish(), i, false);
          continue;
        }
        if (own->enqueue(one)) continue;
        take(own->finish(), first, false);
        own->enqueue(one);
      }
      take(own->finish(), first, false);
    }
  }

  void take(const std::vector<outcome>& outcomes, u64 first, bool is_alone) {
    for (const outcome& each : outcomes) {
      if (each.is_out_of_memory) {
        if (num_skipped_++ == 0) std::printf("skipped: %s: %s\n", text(each.one).c_str(), each.complaint.c_str());
      } else if (each.complaint.empty()) {
        ++num_passed_;
      } else {
        ++num_failed_;
        report(each, outcomes.size(), first, is_alone);
      }
    }
  }

  std::string text(const fuzz_case& one) const { return text_of(one, kinds_); }

  void report(const outcome& failing, std::size_t num_beside, u64 first, bool is_alone) {
    const std::lock_guard lock(report_mutex_);
    if (is_over_ && num_reported_ > 0) return;
    stop_if_dead(failing, num_beside);
    outcome shown = failing;
    if (options_.shrinks) {
      if (!shrinking_) shrinking_ = new_lane(failing.one);
      if (failing.one.n >= huge_from) shrinking_ = new_lane(failing.one);
      const auto fails = [&](const fuzz_case& one) {
        shrinking_->renew_workspace();
        if (!shrinking_->enqueue(one)) return false;
        const outcome found = shrinking_->finish().front();
        if (found.complaint.empty() || found.is_out_of_memory) return false;
        shown = found;
        stop_if_dead(found, 1);
        return true;
      };
      const bool fails_again = fails(failing.one) || fails(failing.one) || fails(failing.one);
      if (fails_again) {
        shrunk(failing.one, kinds_, fails, 300);
      } else if (!is_alone) {
        std::printf("FAILED: rungs_fuzz --seed=%llu --from=%llu --cases=%llu --threads=1%s  # alone, %s passes: %s\n",
                    count(options_.seed), count(first), count(cases_of_block),
                    options_.kinds.empty() ? "" : (" '--kinds=" + options_.kinds + "'").c_str(),
                    text(failing.one).c_str(), failing.complaint.c_str());
        std::fflush(stdout);
        finish_report();
        return;
      }
    }
    std::printf("FAILED: rungs_fuzz --case=%s  # %s\n", text(shown.one).c_str(), shown.complaint.c_str());
    std::fflush(stdout);
    finish_report();
  }
  void finish_report() {
    if (++num_reported_ >= options_.most_failures) is_over_ = true;
  }

  // After a fault nothing can be shrunk, and no other call is to blame.
  void stop_if_dead(const outcome& failing, std::size_t num_beside) {
    if (!lane::is_dead()) return;
    std::printf("FAILED: rungs_fuzz --case=%s  # %s; the device is lost%s\n", text(failing.one).c_str(),
                failing.complaint.c_str(), num_beside > 1 ? ", by this call or by one beside it" : "");
    std::printf("%llu passed, %llu failed, %llu skipped\n", count(num_passed_), count(std::max<u64>(num_failed_, 1)),
                count(num_skipped_));
    std::fflush(stdout);
    std::_Exit(1);
  }

  run_options options_;
  std::span<const traits> kinds_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::atomic<u64> next_block_ = 0, num_passed_ = 0, num_failed_ = 0, num_skipped_ = 0, num_threads_done_ = 0;
  std::atomic<bool> is_over_ = false, is_broken_ = false;
  std::mutex mutex_, huge_mutex_, report_mutex_;
  u64 num_reported_ = 0;
  std::shared_ptr<lane> huge_, shrinking_;
  std::vector<std::shared_ptr<lane>> lanes_;
  tests::watchdog watchdog_;  // ends before the lanes do
};

int list() {
  for (const traits& each : all_traits()) std::printf("%s\n", each.name.c_str());
  std::printf("keys: kind");
  for (const field& each : fields()) std::printf(" %s", std::string(each.name).c_str());
  std::printf("\n");
  return 0;
}

int main_of(int argc, const char* const* argv) {
  run_options wanted;
  u64 times = 1;
  std::string case_text;
  bool as_drawn = false, lists = false, require_gpu = false;
  CLI::App app(
      "rungs_fuzz: random calls of rungs::DeviceReduce, DeviceScan, DeviceHistogram, DeviceSelect, DevicePartition and "
      "DeviceRunLengthEncode, checked against the host");
  app.footer(
      "Exit status: 0 all passed or were skipped, 1 a case failed, 2 the command line is wrong, 3 no GPU where "
      "required.");
  auto* const cases = app.add_option("--cases", wanted.num_cases, "how many (10000)");
  auto* const timed = app.add_option("--seconds", wanted.seconds, "stop after so many seconds");
  app.add_option("--seed", wanted.seed, "of the run (1); case I of a run has the same seed each time");
  app.add_option("--from", wanted.first, "the first case (0)");
  app.add_option("--kinds", wanted.kinds, "only kinds whose name contains a match of this regular expression");
  app.add_option("--threads", wanted.num_threads, "host threads (8)")->check(CLI::Range(1, 32));
  app.add_option("--hang", wanted.hang_seconds, "a call that takes more seconds ends the program (20)");
  app.add_option("--max-failures", wanted.most_failures, "stop after so many (10)");
  auto* const single =
      app.add_option("--case", case_text, "SEED[,key=value...]: one case; keys are kind and those that --list names");
  app.add_option("--repeat", times, "the case of --case so many times (1)")->needs(single);
  app.add_flag("--no-shrink", as_drawn, "report failures as they were drawn");
  app.add_flag("--list", lists, "the kinds and the keys");
  app.add_flag("--require-gpu", require_gpu, "without a GPU, fail");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (lists) return list();
  if (cases->count() == 0) wanted.num_cases = timed->count() > 0 ? ~u64{0} / 2 : 10'000;
  wanted.shrinks = !as_drawn;
  const std::regex pattern(wanted.kinds);
  for (const traits& each : all_traits()) wanted.takes.push_back(std::regex_search(each.name, pattern));
  if (std::ranges::count(wanted.takes, true) == 0) throw std::invalid_argument("--kinds: no kind is called so");
  fuzz_case one;
  if (single->count() > 0) one = case_of(case_text, all_traits());

  if (!tests::has_gpu()) {
    const u64 num_skipped = single->count() > 0 ? 1 : cases->count() > 0 || wanted.seconds == 0 ? wanted.num_cases : 0;
    std::printf("no usable GPU: skipped\n0 passed, 0 failed, %llu skipped\n",
                static_cast<unsigned long long>(num_skipped));
    return require_gpu ? 3 : 0;
  }
  program program(wanted);
  return single->count() > 0 ? program.run_one(one, times) : program.run();
}

}  // namespace
}  // namespace rungs::fuzz

int main(int argc, char** argv) {
  try {
    return rungs::fuzz::main_of(argc, argv);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "rungs_fuzz: %s\n", error.what());
    return 2;
  } catch (const std::regex_error& error) {
    std::fprintf(stderr, "rungs_fuzz: --kinds: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rungs_fuzz: %s\n", error.what());
    return 1;
  }
}
