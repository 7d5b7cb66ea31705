// Draws calls of the front door at random and checks each against the host. See --help.
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
#include "fuzz/options.hpp"
#include "fuzz/watchdog.hpp"
#include "quick.hpp"

namespace rungs::fuzz {
namespace {

constexpr char help[] =
    "rungs_fuzz: random calls of rungs::DeviceReduce, DeviceScan and DeviceHistogram, checked against the host\n"
    "  --cases=N          how many (10000)\n"
    "  --seconds=T        stop after T seconds\n"
    "  --seed=S           of the run (1); case I of a run has the same seed each time\n"
    "  --from=I           the first case (0)\n"
    "  --kinds=REGEX      only kinds whose name contains this\n"
    "  --threads=N        host threads (8)\n"
    "  --hang=T           a call that takes longer than T seconds ends the program (20)\n"
    "  --max-failures=N   stop after so many (10)\n"
    "  --case=SEED[,key=value...]  one case; keys are kind and those that --list names\n"
    "  --repeat=N         the case of --case so many times (1)\n"
    "  --no-shrink        report failures as they were drawn\n"
    "  --list             the kinds and the keys\n"
    "  --require-gpu      without a GPU, fail\n"
    "Exit status: 0 all passed or were skipped, 1 a case failed, 2 the command line is wrong, 3 no GPU where "
    "required.\n";

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
    watchdog_.watch_over(*made);
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
  watchdog watchdog_;  // ends before the lanes do
};

int list() {
  for (const traits& each : all_traits()) std::printf("%s\n", each.name.c_str());
  std::printf("keys: kind");
  for (const field& each : fields()) std::printf(" %s", std::string(each.name).c_str());
  std::printf("\n");
  return 0;
}

int main_of(int argc, const char* const* argv) {
  const options given(argc, argv,
                      {"--cases", "--seconds", "--seed", "--from", "--kinds", "--threads", "--hang", "--max-failures",
                       "--case", "--repeat", "--no-shrink", "--list", "--require-gpu", "--help"});
  if (given.has("--help")) {
    std::printf("%s", help);
    return 0;
  }
  if (given.has("--list")) return list();
  run_options wanted;
  wanted.seed = given.number("--seed", 1);
  wanted.first = given.number("--from", 0);
  wanted.seconds = static_cast<double>(given.number("--seconds", 0));
  wanted.num_cases = given.number("--cases", wanted.seconds > 0 ? ~u64{0} / 2 : 10'000);
  wanted.num_threads = std::clamp<u64>(given.number("--threads", 8), 1, 32);
  wanted.hang_seconds = static_cast<double>(given.number("--hang", 20));
  wanted.most_failures = given.number("--max-failures", 10);
  wanted.shrinks = !given.has("--no-shrink");
  wanted.kinds = given.text("--kinds");
  const std::regex pattern(wanted.kinds);
  for (const traits& each : all_traits()) wanted.takes.push_back(std::regex_search(each.name, pattern));
  if (std::ranges::count(wanted.takes, true) == 0) throw std::invalid_argument("--kinds: no kind is called so");
  fuzz_case one;
  if (given.has("--case")) one = case_of(given.text("--case"), all_traits());
  const u64 times = given.number("--repeat", 1);

  if (!has_gpu()) {
    const u64 num_skipped = given.has("--case")                           ? 1
                            : given.has("--cases") || wanted.seconds == 0 ? wanted.num_cases
                                                                          : 0;
    std::printf("no usable GPU: skipped\n0 passed, 0 failed, %llu skipped\n",
                static_cast<unsigned long long>(num_skipped));
    return given.has("--require-gpu") ? 3 : 0;
  }
  tests::tell_if_quick();
  program program(wanted);
  return given.has("--case") ? program.run_one(one, times) : program.run();
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
