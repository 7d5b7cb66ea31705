#include "sanitizer/findings.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "lines.hpp"

namespace rungs::tests::sanitizer {
namespace {

constexpr std::string_view margin = "========= ";

// A finding begins with a headline and goes on with indented lines.
bool is_headline(std::string_view line) {
  constexpr std::array<std::string_view, 7> chatter{"COMPUTE-SANITIZER", "ERROR SUMMARY",      "RACECHECK SUMMARY",
                                                    "LEAK SUMMARY",      "Target application", "were not printed",
                                                    "No attachable"};
  return line.starts_with(margin) && line.size() > margin.size() &&
         line.find_first_of(" \t", margin.size()) != margin.size() &&
         std::ranges::none_of(chatter, [&](std::string_view words) { return line.find(words) != line.npos; });
}

std::string_view without(std::string_view prefix, std::string_view text) {
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  return text;
}

// The kernel in a line "     at KERNEL", "access at void KERNEL+0xa70", or "in KERNEL" or "in kernel KERNEL" where the
// name is qualified: others are files.
std::string_view place(std::string_view line) {
  constexpr std::string_view at_kernel = "=========     at ", access = "access at void ", in = "in ";
  if (line.starts_with(at_kernel)) return without("void ", line.substr(at_kernel.size()));
  if (const std::size_t at = line.find(access); at != line.npos) return line.substr(at + access.size());
  for (std::size_t at = line.find(in); at != line.npos; at = line.find(in, at + 1)) {
    if (at > 0 && (std::isalnum(static_cast<unsigned char>(line[at - 1])) || line[at - 1] == '_')) continue;
    const std::string_view name = without("void ", without("kernel ", line.substr(at + in.size())));
    const std::size_t colons = name.substr(0, name.find_first_of(" \t")).find("::", 1);
    if (colons != name.npos) return name;
  }
  return {};
}

// Mangled names begin so, and go on alike.
struct excused {
  std::string_view kernel, instead;
  std::string_view tool;  // empty: under each
  std::string_view why;
};
constexpr std::array<excused, 3> all_excused{
    {{"_ZN5rungs2v010histograms17split_bins_kernelINS0_5parts11sample_rowsILi1024ELi6E",
      "_ZN5rungs2v010histograms17split_bins_kernelINS0_5parts11sample_rowsILi1024ELi4E", "racecheck",
      "more loads on their way for millions of samples, which take racecheck minutes"},
     {"_ZN5rungs2v010histograms19lane_private_kernelILi4ELi8E",
      "_ZN5rungs2v010histograms19lane_private_kernelILi4ELi32E", "", "fewer counters for GPUs with less shared memory"},
     {"_ZN5rungs2v010histograms19lane_private_kernelILi4ELi32E",
      "_ZN5rungs2v010histograms19lane_private_kernelILi4ELi8E", "", "more counters for GPUs with more shared memory"}}};

std::string before(std::string_view mark, std::string_view text) {
  return std::string(text.substr(0, text.find(mark)));
}

}  // namespace

std::vector<finding> findings(std::string_view output) {
  std::vector<finding> found;
  for (const std::string_view line : lines(output)) {
    if (!line.starts_with("=========")) continue;
    if (is_headline(line)) found.push_back({.headline = std::string(line.substr(margin.size())), .kernel = {}});
    if (!found.empty() && found.back().kernel.empty()) found.back().kernel = place(line);  // the first one named
  }
  return found;
}

bool ours(const finding& found) {
  const auto has = [](const std::string& text, std::string_view what) { return text.find(what) != text.npos; };
  constexpr std::array<std::string_view, 3> wide_tiles{
      "baselines::cg_block_reduce_shaped<", "baselines::cg_store_async,", "baselines::cg_update_async_kernel<"};
  if (has(found.headline, "Race reported") &&
      std::ranges::any_of(wide_tiles, [&](std::string_view name) { return has(found.kernel, name); }))
    return false;
  return found.kernel.empty() || found.kernel.starts_with("rungs::");
}

verdict judge(const std::vector<shard>& shards) {
  verdict v;
  for (const shard& s : shards) {
    v.launched.insert(s.launched.begin(), s.launched.end());
    const std::vector<finding> found = findings(s.output);
    for (const finding& f : found)
      ++(ours(f) ? v.ours : v.libraries)[{before(" at ", f.headline), before("+0x", f.kernel)}];
    // Findings beyond the tool's limit might be ours.
    const bool cut = s.output.find("were not printed") != s.output.npos;
    if ((s.status != 0 && s.status != found_something) || (s.status == found_something && found.empty()) || cut)
      v.broken.push_back(s.status);
  }
  return v;
}

std::string_view excuse(std::string_view kernel, std::string_view tool, const std::set<std::string>& launched) {
  for (const excused& one : all_excused) {
    if (!kernel.starts_with(one.kernel) || !(one.tool.empty() || one.tool == tool)) continue;
    const std::string other = std::string(one.instead) + std::string(kernel.substr(one.kernel.size()));
    if (launched.contains(other)) return one.why;
  }
  return {};
}

}  // namespace rungs::tests::sanitizer
