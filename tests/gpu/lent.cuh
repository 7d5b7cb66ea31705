// Buffers that a thread keeps while it lives. Threads come and go; what they leave is kept for the next ones.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace rungs::tests::device {

template <class Buffers>
class lent {
 public:
  lent() {
    const std::lock_guard lock(guard());
    if (idle().empty()) idle().push_back(std::make_unique<Buffers>());
    mine_ = std::move(idle().back());
    idle().pop_back();
  }
  ~lent() {
    const std::lock_guard lock(guard());
    idle().push_back(std::move(mine_));
  }
  lent(const lent&) = delete;
  lent& operator=(const lent&) = delete;

  // The calling thread's.
  static Buffers& mine() {
    thread_local lent it;
    return *it.mine_;
  }

 private:
  static std::mutex& guard() {
    static std::mutex it;
    return it;
  }
  static std::vector<std::unique_ptr<Buffers>>& idle() {
    static auto& kept = *new std::vector<std::unique_ptr<Buffers>>;  // outlives every thread
    return kept;
  }
  std::unique_ptr<Buffers> mine_;
};

}  // namespace rungs::tests::device
