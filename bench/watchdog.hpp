// Notices that a step of the run does not end, as when a kernel hangs and a call waits for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace rungs::bench {

// One thread goes through steps. Its calls wait while `on_stuck` runs, so what it only changes right after a call may
// be read there.
class watchdog {
 public:
  // `on_stuck` is told the step that has taken longer than so many seconds, once, on another thread. 0: nobody watches.
  watchdog(double seconds, std::function<void(const std::string& step)> on_stuck);
  ~watchdog();
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

  // From now on this is under way, until it rests or something else begins.
  void begins(const std::string& step);
  void goes_on();  // with the same step, anew
  void rests();

 private:
  using clock = std::chrono::steady_clock;
  void watch();

  const clock::duration patience_;
  const std::function<void(const std::string&)> on_stuck_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string step_;
  clock::time_point since_;
  bool under_way_ = false, is_over_ = false;
  std::thread thread_;
};

}  // namespace rungs::bench
