// The machine a run ran on, read and never changed. What cannot be read is null.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

#include "device.hpp"

namespace rungs::bench {

using json = nlohmann::ordered_json;

// Reads NVML, loaded at run time. Made before the first CUDA call, so that this program is not among the processes it
// counts.
class environment {
 public:
  environment();
  ~environment();
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;

  // The fields of SCHEMA.md's context.environment; each null that cannot be read.
  json read(const device_facts& device) const;
  json driver_version() const;
  // All energy that the GPU has taken since its driver was loaded; empty where NVML or its counter is not there.
  std::optional<double> joules(const device_facts& device) const;

 private:
  struct library;
  library* nvml_ = nullptr;
  // Processes on each GPU when this program had no context yet, by PCI bus id.
  std::vector<std::pair<std::string, int>> processes_at_start_;
  mutable bool first_read_ = true;
};

json host_facts();
json variables_that_matter();
std::string cpu_name();

std::string utc_now();  // "2030-01-02T030405Z"

// "NVIDIA H200" becomes nvidia-h200.
std::string slug(const std::string& name);

// What a reader must know before believing a number; empty for a run in good order.
std::vector<std::string> banners(const json& before, const json& after, const json& variables, bool release_build);

}  // namespace rungs::bench
