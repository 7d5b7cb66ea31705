// What the programs beside rungs_bench have in common.
#pragma once

#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "build_info.hpp"
#include "check.hpp"
#include "device.hpp"
#include "environment.hpp"
#include "exit_codes.hpp"
#include "results.hpp"

namespace rungs::bench {

// What main() returns: that of `run`, or the code of what it throws, which is told.
template <class Run>
int run_program(const std::string& name, const Run& run) {
  try {
    return run();
  } catch (const usage_error& error) {
    std::cerr << name << ": " << error.what() << '\n';
    return exit_usage;
  } catch (const std::regex_error& error) {
    std::cerr << name << ": a wrong regular expression: " << error.what() << '\n';
    return exit_usage;
  } catch (const std::exception& error) {
    std::cerr << name << ": " << error.what() << '\n';
    return exit_internal;
  }
}

// None where there is no usable GPU, which is told.
inline std::optional<device_facts> find_device_or_tell(const std::string& name) {
  std::string why_not;
  auto device = find_device(why_not);
  if (!device) std::cerr << name << ": no usable GPU: " << why_not << '\n';
  return device;
}

// To standard output where no file is named.
inline void write_result(const std::string& path, const nlohmann::ordered_json& file) {
  if (path.empty())
    std::cout << file.dump(1) << '\n';
  else
    write_atomically(path, file.dump(1) + "\n");
}

inline std::string runtime_version() {
  int version = 0;
  check(cudaRuntimeGetVersion(&version));
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// What a file says of its run, at the run's end. `before`: the environment at its beginning.
inline nlohmann::ordered_json head_of_file(const std::string& schema, const environment& surroundings,
                                           const device_facts& device, const nlohmann::ordered_json& before,
                                           const std::vector<std::string>& arguments, const std::string& cccl) {
  const auto after = surroundings.read(device), variables = variables_that_matter();
  nlohmann::ordered_json file{{"schema", schema}, {"gpu", slug(device.name)}};
  file["run"] = utc_now() + "-" + build::commit;
  file["commit"] = build::commit;
  file["arguments"] = arguments;
  file["device"] = {{"name", device.name},
                    {"card", device.card},
                    {"compute_capability", device.compute_capability},
                    {"multiprocessors", device.multiprocessors}};
  file["versions"] = {{"driver", surroundings.driver_version()},
                      {"cuda_runtime", runtime_version()},
                      {"nvcc", build::nvcc_version},
                      {"cccl", cccl},
                      {"compiler", build::compiler_version}};
  file["environment"] = {{"before", before}, {"after", after}};
  file["variables"] = variables;
  file["banners"] = banners(before, after, variables, build::is_release());
  return file;
}

}  // namespace rungs::bench
