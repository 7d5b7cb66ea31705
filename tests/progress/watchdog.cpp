#include "progress/watchdog.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace rungs::tests::progress {
namespace {

using clock = std::chrono::steady_clock;

class watchdog {
 public:
  watchdog() {
    std::thread([this] { look(); }).detach();
  }
  void watch(const std::string& what, clock::time_point until) {
    const std::lock_guard turn(mutex_);
    what_ = what;
    until_ = until;
  }

 private:
  void look() {
    for (;;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const std::lock_guard turn(mutex_);
      if (clock::now() < until_) continue;
      std::fprintf(stderr, "rungs_progress: given up, because this hangs for good: %s\n", what_.c_str());
      std::_Exit(1);  // nothing that would wait for the device
    }
  }
  std::mutex mutex_;
  std::string what_;
  clock::time_point until_ = clock::time_point::max();
};

watchdog& the_watchdog() {
  static watchdog& it = *new watchdog;  // its thread never ends
  return it;
}

}  // namespace

void watch(const std::string& what, double seconds) {
  the_watchdog().watch(what, clock::now() + std::chrono::milliseconds(static_cast<long long>(seconds * 1e3)));
}
void watch_nothing() { the_watchdog().watch({}, clock::time_point::max()); }

}  // namespace rungs::tests::progress
