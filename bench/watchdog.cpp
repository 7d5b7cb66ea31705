#include "watchdog.hpp"

#include <algorithm>
#include <utility>

namespace rungs::bench {

watchdog::watchdog(double seconds, std::function<void(const std::string&)> on_stuck)
    : patience_(std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds))),
      on_stuck_(std::move(on_stuck)) {
  if (seconds > 0) thread_ = std::thread([this] { watch(); });
}

watchdog::~watchdog() {
  {
    const std::lock_guard turn(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void watchdog::begins(const std::string& step) {
  const std::lock_guard turn(mutex_);
  step_ = step;
  since_ = clock::now();
  under_way_ = true;
}

void watchdog::goes_on() {
  const std::lock_guard turn(mutex_);
  since_ = clock::now();
}

void watchdog::rests() {
  const std::lock_guard turn(mutex_);
  under_way_ = false;
}

void watchdog::watch() {
  std::unique_lock turn(mutex_);
  while (!is_over_) {
    if (under_way_ && clock::now() - since_ >= patience_) {
      on_stuck_(step_);
      return;
    }
    changed_.wait_for(turn, std::min<clock::duration>(patience_ / 4, std::chrono::seconds(1)));
  }
}

}  // namespace rungs::bench
