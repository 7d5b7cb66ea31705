// A run that ended before its time, taken up again: what its file holds is not measured anew.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "environment.hpp"
#include "planner.hpp"
#include "results.hpp"

namespace rungs::bench {

class unfinished_run {
 public:
  // Throws usage_error where this is no file of results. Its samples are read where they lie beside it.
  unfinished_run(std::filesystem::path results, const std::filesystem::path& samples);

  bool complete() const { return file_["complete"]; }
  std::string name() const { return file_["run"]; }
  std::vector<std::string> arguments() const { return file_["arguments"]; }

  // Throws usage_error that names the first thing in which this machine or this build is not the file's: the GPU and
  // its card, the driver, the commit, and what was built by what.
  void must_be_of(const std::string& gpu, const std::string& commit, const json& device, const json& versions) const;

  // Takes out of the plan each cell of which the file has every case, measured or left out, and answers the twins of
  // these cells. What the file has of other cells goes, but for cases that did not end: they are not tried again.
  std::vector<twin_pair> take_from(run_plan& plan);
  std::size_t num_cells() const { return num_cells_; }
  std::size_t num_rows() const { return rows_.size(); }
  bool any_wrong() const;

  // Both parts as one file. Rows keep their times and ratios; verdicts follow from the noise floors of both parts.
  json united_with(json later) const;
  json samples_united_with(json later) const;

 private:
  std::filesystem::path path_;
  json file_, samples_ = json::array();
  json rows_ = json::array(), skipped_ = json::array();  // of the cells that it has
  std::size_t num_cells_ = 0;
};

// What tells one build of this program from another.
std::string program_fingerprint();

}  // namespace rungs::bench
