// One host thread for each rank, kept for the whole run: a call of one rank may wait for those of the others.
#pragma once

#include <barrier>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace rungs::bench::across_gpus {

class crew {
 public:
  // What is done where a rank does not come back, which no exception can end: it waits on a GPU, for a peer that has
  // failed. It must not return to the crew's destructor.
  using give_up_t = std::function<void(const std::string& why)>;

  // `patience`: seconds for one piece of work.
  crew(int num_ranks, double patience, give_up_t give_up);
  ~crew();
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;

  // work(rank) on all threads at once. Returns when all have done it, and throws what a rank threw. `what` says in
  // messages what it is.
  void each(const std::string& what, const std::function<void(int)>& work);

  // Within work: waits until all ranks are here.
  void meet() { meeting_.arrive_and_wait(); }

  int num_ranks() const { return static_cast<int>(threads_.size()); }

 private:
  void serve(int rank);

  const double patience_;
  const give_up_t give_up_;
  std::barrier<> meeting_;
  std::mutex mutex_;
  std::condition_variable begin_, end_;
  const std::function<void(int)>* work_ = nullptr;
  unsigned long long piece_ = 0;  // of work, from 1
  int busy_ = 0;
  bool leaving_ = false;
  std::vector<std::exception_ptr> errors_;
  std::vector<bool> done_;
  std::vector<std::thread> threads_;
};

}  // namespace rungs::bench::across_gpus
