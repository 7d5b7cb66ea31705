#include "across/crew.hpp"

#include <chrono>

namespace rungs::bench::across_gpus {
namespace {

// A rank has failed: how long the others get to fail by themselves.
constexpr double grace = 5;

std::string message(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "an unknown exception";
  }
}

}  // namespace

crew::crew(int num_ranks, double patience, give_up_t give_up)
    : patience_(patience),
      give_up_(std::move(give_up)),
      meeting_(num_ranks),
      errors_(static_cast<std::size_t>(num_ranks)),
      done_(static_cast<std::size_t>(num_ranks)) {
  for (int rank = 0; rank < num_ranks; ++rank) threads_.emplace_back([this, rank] { serve(rank); });
}

crew::~crew() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  begin_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void crew::serve(int rank) {
  const auto own = static_cast<std::size_t>(rank);
  unsigned long long seen = 0;
  for (;;) {
    std::unique_lock lock(mutex_);
    begin_.wait(lock, [&] { return leaving_ || piece_ != seen; });
    if (leaving_) return;
    seen = piece_;
    const auto& work = *work_;
    lock.unlock();
    std::exception_ptr error;
    try {
      work(rank);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    errors_[own] = error;
    done_[own] = true;
    --busy_;
    end_.notify_all();
  }
}

void crew::each(const std::string& what, const std::function<void(int)>& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  busy_ = num_ranks();
  done_.assign(done_.size(), false);
  errors_.assign(errors_.size(), nullptr);
  ++piece_;
  begin_.notify_all();
  const auto first_error = [&]() -> std::exception_ptr {
    for (const auto& error : errors_) {
      if (error != nullptr) return error;
    }
    return nullptr;
  };
  const auto seconds = [](double value) { return std::chrono::duration<double>(value); };
  end_.wait_for(lock, seconds(patience_), [&] { return busy_ == 0 || first_error() != nullptr; });
  if (busy_ != 0 && first_error() != nullptr) end_.wait_for(lock, seconds(grace), [&] { return busy_ == 0; });
  if (busy_ != 0) {
    std::string ranks;
    for (std::size_t rank = 0; rank < done_.size(); ++rank) {
      if (!done_[rank]) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
    }
    std::string why = what + ": no answer from rank " + ranks;
    if (const auto error = first_error()) why += "; another rank failed: " + message(error);
    give_up_(why);
  }
  if (const auto error = first_error()) std::rethrow_exception(error);
}

}  // namespace rungs::bench::across_gpus
