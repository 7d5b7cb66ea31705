#include "progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace rungs::bench {

bool stream_is_terminal(int file_descriptor) { return isatty(file_descriptor) == 1; }

bool wants_colour(int file_descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  return stream_is_terminal(file_descriptor) && (no_colour == nullptr || *no_colour == '\0');
}

std::string format_duration(double seconds) {
  const auto whole = static_cast<long>(std::llround(std::max(0.0, seconds)));
  if (whole < 60) return std::to_string(whole) + " s";
  return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
}

void progress_line::show(std::size_t done, const std::string& what, double seconds_left_in_budget) {
  const auto now = clock::now();
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const std::chrono::duration<double> since_last = now - last_;
  if (!terminal_ && since_last.count() < 10) return;
  last_ = now;
  std::string left;
  if (done > 0) {
    double seconds = elapsed / static_cast<double>(done) * static_cast<double>(total_ - done);
    if (seconds_left_in_budget >= 0) seconds = std::min(seconds, seconds_left_in_budget);
    left = ", about " + format_duration(seconds) + " left";
  }
  std::fprintf(stderr, terminal_ ? "\r\033[K[%zu/%zu] %s%s" : "[%zu/%zu] %s%s\n", done, total_, what.c_str(),
               left.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void progress_line::clear() {
  if (!terminal_ || !shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace rungs::bench
