// How many samples are taken, in which order, and which of them count. Knows nothing of CUDA: an instrument runs
// contenders and reads its clock, and tests bring their own.
#pragma once

#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace rungs::bench {

// Of a clock that is never set back.
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct reading {
  double microseconds = 0;
  double clock_mhz = 0;  // of the multiprocessors just before; 0: not known
};

class instrument {
 public:
  virtual ~instrument() = default;
  // Runs these contenders in this order, each once, and answers one reading for each.
  virtual std::vector<reading> run(std::span<const int> order) = 0;
  // Calls one contender so often, back to back where it can, and waits for the last call.
  virtual void repeat(int which, int calls) { run(std::vector<int>(static_cast<std::size_t>(calls), which)); }
};

// Remembers the fastest clock of the run.
class clock_guard {
 public:
  static constexpr double tolerance = 0.96;
  bool accepts(double clock_mhz);  // unknown clocks are accepted
  double fastest_mhz() const { return fastest_; }

 private:
  double fastest_ = 0;
};

struct stop_rule {
  int enough = 30;  // samples of each contender before precision or patience counts
  int fewest = 6;   // samples of each contender whatever the time
  int most = 100;
  double precision = 0.01;  // width of every median's 95 % interval, as a fraction of the median
  double patience = 0.5;    // seconds for the cell, once it has enough samples
  double share = std::numeric_limits<double>::infinity();  // of the run's budget: seconds, once it has the fewest
};

// What a user bounds of it.
struct sample_limits {
  std::optional<int> fewest = {}, most = {};
  // Half of the width of each median's interval, as a fraction of the median: sampled until then, however long it
  // takes.
  std::optional<double> noise = {};

  static constexpr int most_for_noise = 2000;  // where nothing is said of the most
  stop_rule applied_to(stop_rule rule) const;
  bool operator==(const sample_limits&) const = default;
};

struct series {
  std::vector<double> accepted, set_aside;
};

// Samples all contenders of a cell together, round after round, each round in a new random order (of a fixed seed). One
// pair of rounds goes first and does not count. Mirrored rounds (A B C C B A) would favour whoever stands at their
// ends: it is measured again soon after, while its code is still in the instruction caches. On an H200 that was worth
// up to 0.9 us to CUB's sum of 64 Ki items when it came first and last (6.7 against 7.6 us). Stops at the rule's end,
// or when `stop` answers true.
std::vector<series> sample(instrument& with, int num_contenders, const stop_rule& rule, clock_guard& clocks,
                           const std::function<double()>& seconds_now, const std::function<bool()>& stop);

}  // namespace rungs::bench
