// What compute-sanitizer printed, read and judged: what it finds in our kernels fails, what it finds in the libraries'
// is listed. There are no suppressions.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rungs::tests::sanitizer {

struct finding {
  std::string headline, kernel;  // no kernel where the tool named none
  friend bool operator==(const finding&, const finding&) = default;
};

// Every finding in a tool's output, in its order.
std::vector<finding> findings(std::string_view output);

// What is found in an unnamed place is ours too, until it is proved not to be. Races where a block meets in a tile of
// cooperative groups' that is wider than a warp are the library's, though the kernel is ours: it keeps nothing else in
// shared memory, and the warps wait there for each other by releases and acquires, which racecheck does not follow.
bool ours(const finding& found);

// One process under a tool, which ends with `found_something` where all that failed is what the tool found.
struct shard {
  int status = 0;
  std::string output;
  std::set<std::string> launched;  // the kernels' mangled names
};
constexpr int found_something = 86;

// One tool, over all its shards.
struct verdict {
  using kinds = std::map<std::pair<std::string, std::string>, int>;  // how often, by headline and kernel without places
  kinds ours, libraries;
  std::set<std::string> launched;
  std::vector<int> broken;  // how the shards ended that proved nothing
  bool clean() const { return ours.empty() && broken.empty(); }
};
verdict judge(const std::vector<shard>& shards);

// Why a kernel of ours need not be launched under a tool, where the same of another shape was; empty where it must.
std::string_view excuse(std::string_view kernel, std::string_view tool, const std::set<std::string>& launched);

}  // namespace rungs::tests::sanitizer
