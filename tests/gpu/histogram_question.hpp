// What a case asks of a histogram: its levels, and all that is derived from them. Many records are asked the same, so
// it is made once and kept.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "gpu/problem.hpp"
#include "gpu/site.hpp"
#include "oracles/histogram_levels.hpp"
#include "oracles/histogram_samples.hpp"

namespace rungs::tests {

class histogram_question {
 public:
  explicit histogram_question(histogram_call call) : call_(std::move(call)) {}

  // The one for this problem; never freed.
  static const histogram_question& of(const catalog::record& subject, const problem& p);

  const histogram_call& call() const { return call_; }
  // Whether CUB's formula would leave the last bin for a sample that is below the upper level.
  bool needs_clamp() const { return needs_clamp_; }

  // Copies that stay where the site is.
  struct kept {
    const void* items = nullptr;
    std::size_t num_items = 0;
  };
  kept boundaries(site& where) const;
  kept table(table_kind kind, site& where) const;
  kept levels(site& where) const;

 private:
  kept keep(int which, site& where, const std::function<std::vector<unsigned char>()>& make,
            std::size_t item_bytes) const;
  static bool leaves_the_last_bin(const histogram_call& call);

  histogram_call call_;
  bool needs_clamp_ = leaves_the_last_bin(call_);
  mutable std::mutex guard_;
  mutable std::map<std::pair<site*, int>, kept> copies_;
};

}  // namespace rungs::tests
