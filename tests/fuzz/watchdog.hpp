// Ends the program when a call does not end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "fuzz/lane.hpp"

namespace rungs::fuzz {

class watchdog {
 public:
  explicit watchdog(double seconds) : seconds_(seconds), thread_([this] { watch(); }) {}
  ~watchdog() {
    is_over_ = true;
    thread_.join();
  }
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;
  // The lane has to live as long as the watchdog, unless it is forgotten.
  void watch_over(lane& lane) {
    const std::lock_guard lock(mutex_);
    pulses_.push_back(&lane.pulse());
  }
  void forget(lane& lane) {
    const std::lock_guard lock(mutex_);
    std::erase(pulses_, &lane.pulse());
  }

 private:
  void watch() {
    while (!is_over_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      const std::lock_guard lock(mutex_);
      for (const heartbeat* each : pulses_) {
        const auto stuck = each->stuck(seconds_);
        if (!stuck) continue;
        std::printf("FAILED: rungs_fuzz --case=%s  # did not end in %.0f s\n", text_of(*stuck, all_traits()).c_str(),
                    seconds_);
        std::fflush(stdout);
        std::_Exit(1);
      }
    }
  }

  double seconds_;
  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;
  std::vector<const heartbeat*> pulses_;
  std::thread thread_;
};

// What a machine without a GPU answers.
inline bool has_gpu() {
  int count = 0;
  const bool has_one = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  cudaGetLastError();
  return has_one;
}

}  // namespace rungs::fuzz
