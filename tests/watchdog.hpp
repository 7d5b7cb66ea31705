// Ends the program, with words, when what a thread waits for does not end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rungs::tests {

// What one thread waits for.
class heartbeat {
 public:
  // From now on `what` is under way, until it rests or something else begins.
  void begins(std::string what) {
    const std::lock_guard turn(mutex_);
    what_ = std::move(what);
    since_ = clock::now();
  }
  void rests() {
    const std::lock_guard turn(mutex_);
    since_.reset();
  }
  // What has taken longer than so many seconds.
  std::optional<std::string> stuck(double seconds) const {
    const std::lock_guard turn(mutex_);
    if (!since_ || std::chrono::duration<double>(clock::now() - *since_).count() < seconds) return std::nullopt;
    return what_;
  }

 private:
  using clock = std::chrono::steady_clock;
  mutable std::mutex mutex_;
  std::string what_;
  std::optional<clock::time_point> since_;
};

class watchdog {
 public:
  explicit watchdog(double seconds) : seconds_(seconds), thread_([this] { watch(); }) {}
  ~watchdog() {
    is_over_ = true;
    thread_.join();
  }
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;
  // It has to live as long as the watchdog.
  void watch_over(const heartbeat& pulse) {
    const std::lock_guard turn(mutex_);
    pulses_.push_back(&pulse);
  }

 private:
  void watch() {
    while (!is_over_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const std::lock_guard turn(mutex_);
      for (const heartbeat* each : pulses_) {
        const auto stuck = each->stuck(seconds_);
        if (!stuck) continue;
        std::printf("FAILED: %s  # did not end in %.0f s\n", stuck->c_str(), seconds_);
        std::fflush(stdout);
        std::_Exit(1);  // nothing that would wait for the device
      }
    }
  }

  double seconds_;
  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;
  std::vector<const heartbeat*> pulses_;
  std::thread thread_;
};

}  // namespace rungs::tests
