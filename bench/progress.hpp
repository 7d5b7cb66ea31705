// Where a long run is, on stderr: one line that rewrites itself on a terminal, a line now and then elsewhere.
#pragma once

#include <chrono>
#include <string>

namespace rungs::bench {

bool stream_is_terminal(int file_descriptor);
bool wants_colour(int file_descriptor);  // a terminal, and NO_COLOR unset

class progress_line {
 public:
  explicit progress_line(std::size_t total) : total_(total) {}
  ~progress_line() { clear(); }

  // `seconds_left` of the budget, or negative without one.
  void show(std::size_t done, const std::string& what, double seconds_left_in_budget);
  void clear();

 private:
  using clock = std::chrono::steady_clock;
  std::size_t total_;
  bool terminal_ = stream_is_terminal(2), shown_ = false;
  clock::time_point start_ = clock::now(), last_ = start_;
};

std::string format_duration(double seconds);

}  // namespace rungs::bench
